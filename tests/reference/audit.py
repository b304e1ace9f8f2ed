"""The rules R1 to R12: what each could be judged on, and what broke it.

Retries that the caller gave up are judged by R7 and R12 only, which judge every sent attempt.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from .breakers import reported
from .calls import RESERVE_MS, Auction, Call, Model
from .funnels import AUCTION, auction_depth
from .lines import Row
from .orders import REPLAY, STALE, Order, converted_clicks, read_orders, trigger
from .selection import Selection, ordered
from .throttles import judged as judged_throttles

SEVERITY = {
    "R2": "risk", "R3": "waste", "R4": "waste", "R5": "late", "R6": "duplicate", "R7": "load", "R8": "waste",
    "R9": "load", "R10": "load", "R11": "waste", "R12": "late",
}  # fmt: skip
HARMFUL = {"2", "3", "4", "5"}
UNSAFE = {
    "reset", "rate_limited", "invalid_response", "unexpected_status", "unknown_error", "cancelled", "bid",
    "answered_unknown",
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """One judgement; `ts` and `partner` are what filters see."""

    rule: str
    severity: str
    stream: str
    partner: str | None
    ts: int
    broken: bool


def left_ms(call: Call, attempt: Row) -> Decimal | None:
    """What the auction has left at the start of an attempt, less the reserve."""
    left = left_in_budget(call, attempt)
    return None if left is None else left - RESERVE_MS


def left_in_budget(call: Call, attempt: Row) -> Decimal | None:
    budget = attempt["budget_ms"] if attempt["budget_ms"] is not None else call.auction.tmax_ms
    if budget is None or attempt["elapsed_ms"] is None:
        return None
    return Decimal(budget) - Decimal(attempt["elapsed_ms"])


def on_retry(call: Call, number: int) -> Iterator[tuple[str, bool]]:
    """(rule, broken) of a retry of an exchange call, but for R1."""
    original, before, retry = call.sent[0], call.sent[number - 1], call.sent[number]
    outcome = before["outcome"]
    yield "R2", outcome in UNSAFE or (outcome == "server_error" and before["http_status"] not in (502, 503))
    yield "R3", outcome == "timeout"
    yield "R4", number > 2
    left = left_ms(call, retry)
    if left is not None and retry["timeout_ms"] is not None:
        yield "R5", left < retry["timeout_ms"]
    if None not in (original["request_id"], retry["request_id"]):
        yield "R6", original["request_id"] != retry["request_id"]
    yield "R8", outcome == "client_error"


def on_calls(model: Model) -> Iterator[Verdict]:
    states = reported(model)
    for call in model.calls:
        for number, attempt in enumerate([] if call.hidden else call.sent):
            place = ("exchange", call.partner, call.start)
            before = [i.state for i in states.get((call.partner, attempt["node"]), []) if i.held_before(attempt["ts"])]
            if before and before[0] != "unknown":
                yield Verdict("R7", SEVERITY["R7"], *place, before[0] == "open")
            left = left_in_budget(call, attempt)
            if left is not None and attempt["tmax_ms"] is not None:
                yield Verdict("R12", SEVERITY["R12"], *place, attempt["tmax_ms"] > left)
            if number == 0 or attempt["outcome"] == "cancelled":
                continue
            repeated = call.sent[number - 1]["outcome"] == "no_bid"
            harms = call.sent[number - 1]["nbr"] in HARMFUL
            yield Verdict("R1", "harmful", *place, repeated and harms)
            yield Verdict("R1", "waste", *place, repeated and not harms)
            for rule, broken in on_retry(call, number):
                yield Verdict(rule, SEVERITY[rule], *place, broken)


def placement_of(auction: Auction) -> tuple[str, str] | None:
    """The (source, placement) of an auction; None where either is unknown."""
    if auction.source is None or auction.placement is None:
        return None
    return auction.source, auction.placement


def on_auctions(model: Model) -> Iterator[Verdict]:
    """R9 of the exchange: what came within a second after three in a row of one placement had ended with nothing."""
    billing_known = any(notice["event"] == "billing" for notice in model.facts.notices)
    paid_clicks = converted_clicks(model.facts.postbacks)
    rows: dict[tuple[str, str], list[Auction]] = {}
    for auction in sorted(model.auctions.values(), key=lambda auction: (auction.lies_at, auction.auction_id)):
        place = placement_of(auction)
        if place is not None:
            rows.setdefault(place, []).append(auction)
    for in_a_row in rows.values():
        empty = [
            auction.winner is None and auction_depth(auction, billing_known, paid_clicks) < AUCTION.index("bid")
            for auction in in_a_row
        ]
        for number in range(3, len(in_a_row)):
            if all(empty[number - 3 : number]):
                ts = in_a_row[number].lies_at
                broken = ts - in_a_row[number - 1].lies_at <= 1_000_000
                yield Verdict("R9", SEVERITY["R9"], "exchange", None, ts, broken)


def signed_anew(order: Order, number: int) -> bool | None:
    """Whether a retry of an order had a signature that holds; None where nobody can tell."""
    retry, earlier = order.postbacks[number], order.postbacks[:number]
    if retry["error_code"] in (STALE, REPLAY):
        return False
    known = {row["signature_hash"] for row in earlier} - {None}
    if retry["signature_hash"] is None or not known:
        return None
    return retry["signature_hash"] not in known


def on_orders(model: Model) -> Iterator[Verdict]:
    for order in read_orders(model.facts.postbacks):
        for number in range(1, (order.untold or 0) if order.hidden else len(order.attempts)):
            place = ("postback", order.partner, order.start)
            before, retry = order.attempts[number - 1], order.attempts[number]
            yield Verdict("R4", SEVERITY["R4"], *place, number > 5)
            yield Verdict("R8", SEVERITY["R8"], *place, trigger(before) == "client_error")
            yield Verdict("R9", SEVERITY["R9"], *place, retry["ts"] - before["ts"] <= 100_000)
            anew = signed_anew(order, number)
            if anew is not None:
                yield Verdict("R11", SEVERITY["R11"], *place, not anew)


def on_throttles(model: Model) -> Iterator[Verdict]:
    """R10: a 429 lies where its call or order does."""
    for request, word in judged_throttles(model):
        if word not in (None, "pending"):
            stream, key, _ = request.group
            yield Verdict("R10", SEVERITY["R10"], stream, key, request.unit_ts, word == "early")


def audit(model: Model, selection: Selection) -> list[Row]:
    """A row for all that was judged by one rule and severity of one partner."""
    groups: dict[tuple[str, str, str, str | None], list[bool]] = {}
    for verdicts in (on_calls, on_auctions, on_orders, on_throttles):
        for found in verdicts(model):
            if selection.takes(found.ts, found.partner):
                key = (found.rule, found.severity, found.stream, found.partner)
                groups.setdefault(key, []).append(found.broken)
    names = ("rule", "severity", "stream", "partner")
    rows = [
        dict(zip(names, key, strict=True)) | {"violations": sum(broken), "checked": len(broken)}
        for key, broken in groups.items()
    ]
    return ordered(rows, *names)
