"""Truth of the orders: how each ended, and what went wrong with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ingest.simulate.records import Postback, Sender
from ingest.simulate.stats import DAY_US
from ingest.simulate.truth.retries import Row

OrderKey = tuple[str, str, str]
"""Tenant (the key where unknown), event type, order id."""


@dataclass(slots=True)
class OrderEntry:
    """One order; `faults` are words by name."""

    key: OrderKey
    first_ts: int
    requests: int
    position: int | None
    """Of the first acceptance, from 0."""
    accepted_ts: int
    earlier: bool
    conversion_ids: list[str]
    duplicates: int
    faults: dict[str, str] = field(default_factory=dict)


class OrderTruth:
    """Keeps a ledger of the orders, and of the bodies that came with each idempotency key."""

    def __init__(self) -> None:
        self.orders: list[OrderEntry] = []
        self.bodies: defaultdict[tuple[str, str], list[tuple[int, str, OrderKey]]] = defaultdict(list)

    def postbacks(self, sender: Sender, postbacks: Sequence[Postback]) -> None:
        """The postbacks of one order in order of time, or of none."""
        key = (sender.tenant or sender.key_id, sender.event_type, sender.order_id or "")
        for one in postbacks:
            if one.idempotency_key is not None and one.body_hash is not None:
                self.bodies[sender.key_id, one.idempotency_key].append((one.ts, one.body_hash, key))
        if sender.order_id is not None:
            self.orders.append(_entry(key, postbacks))

    def rows(self, newest: int) -> tuple[list[Row], list[Row]]:
        """Rows of `orders` and of `order_faults`; `newest` is the last moment of the stream."""
        reuses = dict(self._reuses())
        rows, faults = [], []
        for entry in sorted(self.orders, key=lambda entry: entry.key):
            if entry.key in reuses:
                entry.faults["key_reuse"] = reuses.pop(entry.key)
            rows.append(_row(entry, newest))
            faults += [_fault(name, entry.key, words) for name, words in entry.faults.items()]
        faults += [_fault("key_reuse", key, words) for key, words in reuses.items()]
        return rows, sorted(faults, key=lambda row: tuple(map(str, row.values())))

    def _reuses(self) -> Iterable[tuple[OrderKey, str]]:
        """Orders whose request was the first with another body under a known idempotency key."""
        for (_, name), uses in self.bodies.items():
            uses.sort()
            other = next(((body, key) for _, body, key in uses if body != uses[0][1]), None)
            if other is not None:
                yield other[1], f"{name}: {uses[0][1]}, then {other[0]}"


def _entry(key: OrderKey, postbacks: Sequence[Postback]) -> OrderEntry:
    accepted = [one for one in postbacks if one.outcome == "accepted"]
    position = postbacks.index(accepted[0]) if accepted else None
    entry = OrderEntry(
        key,
        postbacks[0].ts,
        len(postbacks),
        position,
        accepted[0].ts if accepted else 0,
        bool(accepted) and accepted[0].marked,
        sorted({one.conversion_id for one in accepted if one.conversion_id is not None}),
        sum(one.marked for one in accepted),
    )
    if len(entry.conversion_ids) > 1:
        entry.faults["double_count"] = " and ".join(entry.conversion_ids)
    values = {(one.amount, one.currency) for one in postbacks if one.amount is not None}
    if not values:
        values = {(0, one.body_hash) for one in postbacks if one.body_hash is not None}
    if len(values) > 1:
        entry.faults["reused_id"] = f"{len(values)} different contents"
    counted: set[str] = set()
    for one in accepted:
        if one.conversion_id in counted and not one.marked and not one.replayed:
            entry.faults["unmarked_duplicate"] = f"conversion {one.conversion_id} again"
        if one.conversion_id is not None:
            counted.add(one.conversion_id)
    return entry


def _row(entry: OrderEntry, newest: int) -> Row:
    state = "lost" if newest >= entry.first_ts + DAY_US else "pending"
    if entry.position is not None:
        state = "accepted_after_retry" if entry.position else "accepted_first"
    if entry.earlier:
        state = "accepted_earlier"
    timed = entry.position is not None and not entry.earlier
    tenant, event_type, order_id = entry.key
    return {
        "tenant": tenant,
        "event_type": event_type,
        "external_order_id": order_id,
        "requests": entry.requests,
        "state": state,
        "retries_to_accept": entry.position if timed else None,
        "seconds_to_accept": (entry.accepted_ts - entry.first_ts) / 1_000_000 if timed else None,
        "conversion_ids": entry.conversion_ids,
        "duplicates": entry.duplicates,
        "faults": sorted(entry.faults),
    }


def _fault(name: str, key: OrderKey, words: str) -> Row:
    tenant, event_type, order_id = key
    return {
        "fault": name,
        "tenant": tenant,
        "event_type": event_type,
        "external_order_id": order_id or None,
        "detail": words,
    }
