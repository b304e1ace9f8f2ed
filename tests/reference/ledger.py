"""Whether conversions arrived once and only once: the ledger of orders, its faults, and the signatures."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from .calls import Model
from .counts import nearest_rank
from .lines import DAY, Row
from .orders import REPLAY, STALE, Order, by_ts, order_key, owner, read_orders
from .selection import Selection, ordered

SKEW = 300_000_000
REUSE = 600_000_000


@dataclass(frozen=True)
class Fault:
    """One fault of an order, or of a request without an order id: where it is shown, and by which filters."""

    kind: str
    tenant: str | None
    event_type: str | None
    external_order_id: str | None
    ts: int
    partner: str | None


def is_double_count(order: Order) -> bool:
    """Two conversion ids were given for one order."""
    return len(order.conversion_ids) > 1


def is_reused_id(order: Order) -> bool:
    """Two conversions share an order id: their amounts differ, or their bodies where no amount is known."""
    priced = [row for row in order.postbacks if row["amount"] is not None]
    if not priced:
        return len({row["body_hash"] for row in order.postbacks} - {None}) > 1
    if len({row["amount"] for row in priced}) > 1:
        return True
    return len({row["currency"] for row in priced} - {None}) > 1


def is_unmarked_duplicate(order: Order) -> bool:
    """It was accepted again with a conversion id that it had, and nothing said so."""
    had: set[str] = set()
    for row in order.accepted:
        conversion = row["conversion_id"]
        if conversion in had and row["duplicate"] is not True and row["idempotent_replay"] is not True:
            return True
        had |= {conversion} - {None}
    return False


ORDER_FAULTS = {
    "double_count": is_double_count,
    "reused_id": is_reused_id,
    "unmarked_duplicate": is_unmarked_duplicate,
}


def reused_keys(postbacks: list[Row]) -> Iterator[Row]:
    """Of each idempotency key that came with two bodies, the first request whose body differs."""
    first_bodies: dict[tuple[str | None, str], str] = {}
    told: set[tuple[str | None, str]] = set()
    for row in by_ts(postbacks):
        if row["idempotency_key"] is None or row["body_hash"] is None:
            continue
        key = (row["key_id"], row["idempotency_key"])
        if first_bodies.setdefault(key, row["body_hash"]) != row["body_hash"] and key not in told:
            told.add(key)
            yield row


def faults(model: Model) -> list[Fault]:
    """One a kind and order; requests without an order id count as one of their tenant and event type."""
    orders = {order.key: order for order in read_orders(model.facts.postbacks)}
    found = [
        Fault(kind, *order.key, order.start, order.partner)
        for order in orders.values()
        for kind, is_fault in ORDER_FAULTS.items()
        if is_fault(order)
    ]
    for row in reused_keys(model.facts.postbacks):
        order = orders.get(order_key(row))
        if order is None:
            found.append(Fault("key_reuse", owner(row), row["event_type"], None, row["ts"], row["key_id"]))
        else:
            found.append(Fault("key_reuse", *order.key, order.start, order.partner))
    return found


def order_faults(model: Model, selection: Selection) -> list[Row]:
    kept = {
        (fault.kind, fault.tenant, fault.event_type, fault.external_order_id)
        for fault in faults(model)
        if selection.takes(fault.ts, fault.partner)
    }
    names = ("fault", "tenant", "event_type", "external_order_id")
    return ordered((dict(zip(names, key, strict=True)) for key in kept), *names)


def order_state(order: Order, newest: int) -> str | None:
    """What became of an order; None where nobody knows whether an earlier request was accepted."""
    if order.hidden:
        return None
    if order.accepted:
        if order.accepted[0]["duplicate"] is True:
            return "accepted_earlier"
        return "accepted_first" if order.accepted[0] is order.postbacks[0] else "accepted_after_retry"
    return "lost" if newest >= order.start + DAY else "pending"


def orders(model: Model, selection: Selection) -> list[Row]:
    """An order lies at its first postback and belongs to that one's key."""
    known: dict[tuple[str | None, str | None, str | None], set[str]] = {}
    for fault in faults(model):
        known.setdefault((fault.tenant, fault.event_type, fault.external_order_id), set()).add(fault.kind)
    newest = max((row["ts"] for row in model.facts.postbacks), default=0)
    rows = [
        _order_row(order, order_state(order, newest), sorted(known.get(order.key, set())))
        for order in read_orders(model.facts.postbacks)
        if selection.takes(order.start, order.partner)
    ]
    return ordered(rows, "tenant", "event_type", "external_order_id")


def _order_row(order: Order, state: str | None, kinds: list[str]) -> Row:
    tenant, event_type, external_order_id = order.key
    seen = state in ("accepted_first", "accepted_after_retry")
    return {
        "tenant": tenant,
        "event_type": event_type,
        "external_order_id": external_order_id,
        "requests": len(order.postbacks),
        "state": state,
        "retries_to_accept": len(order.attempts) - 1 if seen else None,
        "seconds_to_accept": (order.accepted[0]["ts"] - order.start) / 1_000_000 if seen else None,
        "conversion_ids": order.conversion_ids,
        "duplicates": None if order.untold is not None else sum(row["duplicate"] is True for row in order.accepted),
        "faults": kinds,
    }


def replays(postbacks: list[Row]) -> list[Row]:
    """Postbacks that say so, or whose signature was used before, at most 600 s after a first use that was no 429."""
    first_use: dict[tuple[str | None, str], int] = {}
    found = []
    for row in by_ts(postbacks):
        key = (row["key_id"], row["signature_hash"])
        used = first_use.get(key)
        if row["error_code"] == REPLAY or (used is not None and row["ts"] - used <= REUSE):
            found.append(row)
        if row["signature_hash"] is not None and row["http_status"] != 429:
            first_use.setdefault(key, row["ts"])
    return found


def is_stale(postback: Row) -> bool:
    told = postback["x_timestamp"]
    return postback["error_code"] == STALE or (told is not None and abs(postback["ts"] - told) > SKEW)


def has(row: Row, *columns: str) -> bool:
    return any(row[column] is not None for column in columns)


def signatures(model: Model, selection: Selection) -> list[Row]:
    """Each postback lies at its own ts; the skew is absolute; what the whole data tell nothing of is unknown."""
    replayed = {id(row) for row in replays(model.facts.postbacks)}
    told_of_stale = any(has(row, "x_timestamp", "error_code") for row in model.facts.postbacks)
    told_of_replays = any(has(row, "signature_hash", "error_code") for row in model.facts.postbacks)
    keys: dict[str | None, list[Row]] = {}
    for row in model.facts.postbacks:
        if selection.takes(row["ts"], row["key_id"]):
            keys.setdefault(row["key_id"], []).append(row)
    rows = []
    for key, group in keys.items():
        told = [row for row in group if row["x_timestamp"] is not None]
        skews = [Decimal(abs(row["ts"] - row["x_timestamp"])) / 1_000_000 for row in told]
        rows.append(
            {
                "key": key,
                "requests": len(group),
                "stale": sum(is_stale(row) for row in group) if told_of_stale else None,
                "replayed": sum(id(row) in replayed for row in group) if told_of_replays else None,
                "skew_p50_s": nearest_rank(skews, 50) if skews else None,
                "skew_p99_s": nearest_rank(skews, 99) if skews else None,
            }
        )
    return ordered(rows, "key")
