"""The three funnels and their losses."""

from collections import Counter
from collections.abc import Iterable

from .calls import Auction, Call, Model
from .lines import Row
from .orders import converted_clicks, postback_depths, trigger
from .selection import Selection, ordered, ratio

CALL = ("considered", "sent", "answered", "bid", "in_auction", "won", "billed", "clicked")
AUCTION = ("auctions", "call_sent", "bid", "filled", "billed", "clicked", "converted")
POSTBACK = ("received", "passed_limits", "authentic", "accepted", "unique")
STAGES = {"call": CALL, "auction": AUCTION, "postback": POSTBACK}


def call_depth(call: Call, billing_known: bool) -> int:
    """The last stage a call is known to have reached; a later proof implies the earlier stages."""
    billed = call.has("billing") if billing_known else call.has("impression")
    proofs = {
        "sent": bool(call.sent) or call.unshown > 0,
        "answered": bool(call.answered),
        "bid": bool(call.bids),
        "in_auction": any(bid["reject_reason"] is None and not call.is_late(bid) for bid in call.bids),
        "won": call.is_winner or call.has("win"),
        "billed": billed,
        "clicked": call.has("click"),
    }
    return max((CALL.index(stage) for stage, proven in proofs.items() if proven), default=0)


def call_loss(call: Call, depth: int) -> str:
    """Why a call went no further than `depth`."""
    stage = CALL[depth + 1]
    if stage == "sent":
        return str(call.attempts[-1]["outcome"])
    if stage == "answered":
        return str(call.sent[-1]["outcome"]) if call.sent else "unknown"
    if stage == "bid":
        last = call.answered[-1]
        return "answered_unknown" if last["outcome"] == "answered_unknown" else str(last["nbr"] or "no_reason")
    if stage == "in_auction":
        return str(call.bids[-1]["reject_reason"] or "late")
    if stage == "won":
        reasons = (notice.row["loss_reason"] for notice in call.notices if notice.kind == "loss")
        return next((str(reason) for reason in reasons if reason is not None), "no_win")
    return f"no_{stage}"


def auction_depth(auction: Auction, billing_known: bool, paid_clicks: set[str]) -> int:
    steps = {"sent": 1, "answered": 1, "bid": 2, "in_auction": 2, "won": 3, "billed": 4, "clicked": 5}
    depth = max((steps.get(CALL[call_depth(call, billing_known)], 0) for call in auction.calls), default=0)
    clicks = {notice.row["click_id"] for call in auction.calls for notice in call.notices if notice.kind == "click"}
    return 6 if clicks & paid_clicks else depth


def unknown_stages(model: Model) -> set[tuple[str, str]]:
    """(funnel, stage) without any evidence in the whole data."""
    facts = model.facts
    kinds = {notice["event"] for notice in facts.notices}
    winners = any(row["winner"] is not None for row in facts.auctions)
    answers = {attempt["outcome"] for call in model.calls for attempt in call.answered}
    unknown: set[tuple[str, str]] = set()
    if answers == {"answered_unknown"}:
        unknown |= {("call", "bid"), ("call", "in_auction"), ("auction", "bid")}
    if not kinds and not winners:
        unknown |= {("call", "won"), ("auction", "filled")}
    if not kinds & {"billing", "impression", "click"}:
        unknown |= {("call", "billed"), ("auction", "billed")}
    if "click" not in kinds:
        unknown |= {("call", "clicked"), ("auction", "clicked")}
    clicks = any(row["event"] == "click" and row["click_id"] is not None for row in facts.notices)
    if not clicks or all(row["click_id"] is None for row in facts.postbacks):
        unknown.add(("auction", "converted"))
    if not facts.attempts:
        unknown |= {("call", stage) for stage in CALL} | {("auction", stage) for stage in AUCTION[1:]}
        if not facts.auctions:
            unknown.add(("auction", "auctions"))
    if not facts.postbacks:
        unknown |= {("postback", stage) for stage in POSTBACK}
    elif all(trigger(row) == "answered_unknown" for row in facts.postbacks):
        unknown |= {("postback", stage) for stage in POSTBACK[1:]} | {("auction", "converted")}
    return unknown


def units(model: Model, selection: Selection) -> dict[str, list[tuple[int, str]]]:
    """For each funnel, the selected units: (last stage reached, reason of the loss after it)."""
    billing_known = any(notice["event"] == "billing" for notice in model.facts.notices)
    paid_clicks = converted_clicks(model.facts.postbacks)
    found: dict[str, list[tuple[int, str]]] = {funnel: [] for funnel in STAGES}
    for call in model.calls:
        if selection.takes(call.start, call.partner):
            depth = call_depth(call, billing_known)
            found["call"].append((depth, call_loss(call, depth) if depth + 1 < len(CALL) else ""))
    for auction in model.auctions.values():
        called = selection.partners is None or any(selection.of(call.partner) for call in auction.calls)
        if called and selection.at(auction.lies_at):
            depth = auction_depth(auction, billing_known, paid_clicks)
            found["auction"].append((depth, f"no_{AUCTION[depth + 1]}" if depth + 1 < len(AUCTION) else ""))
    for postback, depth in postback_depths(model.facts.postbacks):
        if selection.takes(postback["ts"], postback["key_id"]):
            found["postback"].append((depth, "duplicate" if depth == 3 else trigger(postback)))
    return found


def funnel(model: Model, selection: Selection) -> list[Row]:
    """All stages of all funnels; `position` from 1, and the first stage has no previous one."""
    unknown, found = unknown_stages(model), units(model, selection)
    rows: list[Row] = []
    for name, stages in STAGES.items():
        counts = [
            None if (name, stage) in unknown else sum(depth >= place for depth, _ in found[name])
            for place, stage in enumerate(stages)
        ]
        rows += _shares(name, stages, counts)
    return rows


def _shares(name: str, stages: Iterable[str], counts: list[int | None]) -> Iterable[Row]:
    for place, (stage, count) in enumerate(zip(stages, counts, strict=True)):
        previous = counts[place - 1] if place else None
        yield {
            "funnel": name,
            "position": place + 1,
            "stage": stage,
            "count": count,
            "of_previous": None if count is None else ratio(count, previous or 0),
            "of_first": None if count is None else ratio(count, counts[0] or 0),
        }


def losses(model: Model, selection: Selection) -> list[Row]:
    unknown, found = unknown_stages(model), units(model, selection)
    counts: Counter[tuple[str, str, str]] = Counter()
    for name, stages in STAGES.items():
        for depth, reason in found[name]:
            if depth + 1 < len(stages) and (name, stages[depth + 1]) not in unknown:
                counts[name, stages[depth + 1], reason] += 1
    rows = [
        {"funnel": name, "stage": stage, "reason": reason, "count": count}
        for (name, stage, reason), count in counts.items()
    ]
    return ordered(rows, "funnel", "stage", "reason")
