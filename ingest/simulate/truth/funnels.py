"""Truth of the call and the auction funnel, with what was lost between their stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ingest.simulate.records import ANSWERED, NOT_SENT, Attempt, Auction, Call
from ingest.simulate.stats import ratio
from ingest.simulate.truth.retries import Row

CALL_STAGES = ("considered", "sent", "answered", "bid", "in_auction", "won", "billed", "clicked")
AUCTION_STAGES = ("auctions", "call_sent", "bid", "filled", "billed", "clicked", "converted")
POSTBACK_STAGES = ("received", "passed_limits", "authentic", "accepted", "unique")


class CallTrace(NamedTuple):
    """How far a call came by its own attempts, its proofs, and why it would stop at each stage."""

    by_attempts: int
    """Position in CALL_STAGES, `in_auction` at most."""
    won: bool
    billing: bool
    impression: bool
    click: bool
    reason: str
    """Of the stage after `by_attempts`."""


class AuctionTrace(NamedTuple):
    """What is true of any call of an auction."""

    sent: bool
    bid: bool
    won: bool
    billing: bool
    impression: bool
    click: bool
    converted: bool


def trace(call: Call) -> CallTrace:
    """How far one call came."""
    stage, reason = _by_attempts(call.attempts)
    if stage == 4:
        reason = call.loss_reason or "no_win"
    return CallTrace(stage, call.won, call.billing, call.impression, call.click, reason)


def _by_attempts(attempts: Sequence[Attempt]) -> tuple[int, str]:
    """The stage that the attempts alone reached, and why the next one was missed."""
    sent = [attempt for attempt in attempts if attempt.outcome not in NOT_SENT]
    if not sent:
        return 0, attempts[-1].outcome
    answers = [attempt for attempt in sent if attempt.outcome in ANSWERED]
    if not answers:
        return 1, sent[-1].outcome
    bids = [attempt for attempt in answers if attempt.outcome == "bid"]
    if not bids:
        last = answers[-1]
        return 2, last.outcome if last.outcome == "answered_unknown" else last.reason or "no_reason"
    if any(not bid.reject and not bid.late for bid in bids):
        return 4, ""
    return 3, bids[-1].reject or "late"


class FunnelTruth:
    """Counts calls and auctions by their traces; what later data decide is decided at the end."""

    def __init__(self) -> None:
        self.calls: Counter[CallTrace] = Counter()
        self.auctions: Counter[AuctionTrace] = Counter()
        self.answers_known = False
        """Some answer is a bid or a no-bid."""
        self.answers_unknown = False

    def auction(self, auction: Auction) -> None:
        """One auction with all its calls."""
        traces = [trace(call) for call in auction.calls]
        self.calls.update(traces)
        self.auctions[
            AuctionTrace(
                sent=any(one.by_attempts >= 1 for one in traces),
                bid=any(one.by_attempts >= 3 for one in traces),
                won=any(one.won for one in traces),
                billing=any(one.billing for one in traces),
                impression=any(one.impression for one in traces),
                click=any(one.click for one in traces),
                converted=any(call.converted for call in auction.calls),
            )
        ] += 1

    def rows(self, kinds: Iterable[str], conversions_known: bool) -> tuple[list[Row], list[Row]]:
        """Rows of `funnel` and `losses`; `kinds` are the kinds of notice that the data have."""
        present = set(kinds)
        impressions_prove = "billing" not in present
        money = bool(present & {"billing", "impression"})
        evidence = {
            "bid": self.answers_known or not self.answers_unknown,
            "billed": money or "click" in present,
            "clicked": "click" in present,
            "converted": conversions_known,
        }
        evidence["in_auction"] = evidence["bid"]
        evidence["won"] = evidence["filled"] = any(one.won for one in self.calls) or "win" in present or money
        call_funnel = self._call_funnel(evidence, impressions_prove)
        auction_funnel = self._auction_funnel(evidence, impressions_prove)
        return call_funnel[0] + auction_funnel[0], call_funnel[1] + auction_funnel[1]

    def _call_funnel(self, evidence: dict[str, bool], impressions_prove: bool) -> tuple[list[Row], list[Row]]:
        reached: Counter[int] = Counter()
        lost: Counter[tuple[int, str]] = Counter()
        for one, times in self.calls.items():
            stage, reason = one.by_attempts, one.reason
            billed = one.billing or (impressions_prove and one.impression)
            if one.click:
                stage = 7
            elif billed:
                stage, reason = 6, "no_clicked"
            elif one.won:
                stage, reason = 5, "no_billed"
            reached[stage] += times
            if stage < 7:
                lost[stage + 1, reason] += times
        return _tables("call", CALL_STAGES, reached, lost, evidence)

    def _auction_funnel(self, evidence: dict[str, bool], impressions_prove: bool) -> tuple[list[Row], list[Row]]:
        reached: Counter[int] = Counter()
        lost: Counter[tuple[int, str]] = Counter()
        for one, times in self.auctions.items():
            proofs = (
                one.sent,
                one.bid,
                one.won,
                one.billing or (impressions_prove and one.impression),
                one.click,
                one.converted,
            )
            stage = max((at for at, proved in enumerate(proofs, 1) if proved), default=0)
            reached[stage] += times
            if stage < 6:
                lost[stage + 1, "no_" + AUCTION_STAGES[stage + 1]] += times
        return _tables("auction", AUCTION_STAGES, reached, lost, evidence)


def _tables(
    funnel: str,
    stages: Sequence[str],
    reached: Counter[int],
    lost: Counter[tuple[int, str]],
    evidence: dict[str, bool],
) -> tuple[list[Row], list[Row]]:
    """Rows of `funnel` and `losses` from the deepest stages; a loss needs evidence of its stage."""
    counts: list[int | None] = [
        sum(times for depth, times in reached.items() if depth >= at) if reached and evidence.get(stage, True) else None
        for at, stage in enumerate(stages)
    ]
    losses = [
        {"funnel": funnel, "stage": stages[at], "reason": reason, "count": times}
        for (at, reason), times in sorted(lost.items())
        if counts[at] is not None
    ]
    return stage_rows(funnel, stages, counts), losses


def stage_rows(funnel: str, stages: Sequence[str], counts: Sequence[int | None]) -> list[Row]:
    """Rows of `funnel`; positions from 1."""
    rows = []
    for at, (stage, count) in enumerate(zip(stages, counts, strict=True)):
        before = counts[at - 1] if at else None
        first = counts[0]
        rows.append(
            {
                "funnel": funnel,
                "position": at + 1,
                "stage": stage,
                "count": count,
                "of_previous": None if count is None or before is None else ratio(count, before),
                "of_first": None if count is None or first is None else ratio(count, first),
            }
        )
    return rows
