"""Truth of one stream about calls and their retries: the tables `calls`, `retries` and `fate`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.simulate.records import ANSWERED, NOT_SENT, RANK, Attempt, is_failure
from ingest.simulate.stats import Z_TWO_SIDED, ratio, wilson

Row = dict[str, Any]
Revenue = Mapping[str, int]


@dataclass(slots=True)
class CallCounts:
    """Running counts of one partner."""

    calls: int = 0
    calls_sent: int = 0
    sent: int = 0
    not_sent: int = 0
    answered: int = 0
    cancelled: int = 0
    answered_calls: int = 0
    cancelled_calls: int = 0
    retried: int = 0
    recovered: int = 0
    late: int = 0
    late_checked: int = 0


@dataclass(frozen=True, slots=True)
class Retry:
    """One retry that was not cancelled; `first_ts` is the start of its call."""

    first_ts: int
    ts: int
    partner: str
    trigger: str
    success: bool
    bid: bool
    latency: int | None
    revenue: Revenue | None
    """Known revenue of the call, where it was won and its last bid came on this retry."""


class StreamTruth:
    """Counts the calls of one stream as they are made."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.counts: defaultdict[str, CallCounts] = defaultdict(CallCounts)
        self.fates: Counter[tuple[str, str]] = Counter()
        self.retries: list[Retry] = []
        self.numbered: Counter[tuple[str, str, int, bool, bool]] = Counter()
        self.bids_unknown: set[str] = set()
        """Partners with an answer of which nobody can tell a bid from a no-bid."""

    def call(self, partner: str, attempts: Sequence[Attempt], revenue: Revenue | None = None) -> None:
        """One call with its attempts in order of time; `revenue` where it was won."""
        counts = self.counts[partner]
        sent = [attempt for attempt in attempts if attempt.outcome not in NOT_SENT]
        counts.calls += 1
        counts.not_sent += len(attempts) - len(sent)
        if not sent:
            return
        answered = sum(attempt.outcome in ANSWERED for attempt in sent)
        cancelled = sum(attempt.outcome == "cancelled" for attempt in sent)
        counts.calls_sent += 1
        counts.sent += len(sent)
        counts.answered += answered
        counts.cancelled += cancelled
        counts.answered_calls += answered > 0
        counts.cancelled_calls += cancelled == len(sent)
        if any(attempt.outcome == "answered_unknown" for attempt in sent):
            self.bids_unknown.add(partner)
        recovered_by = self._retries_of(counts, partner, attempts[0].ts, sent, revenue) if len(sent) > 1 else None
        if is_failure(sent[0].outcome):
            self.fates[partner, fate(attempts[-1], len(sent), recovered_by)] += 1

    def _retries_of(
        self, counts: CallCounts, partner: str, first_ts: int, sent: Sequence[Attempt], revenue: Revenue | None
    ) -> int | None:
        """Count the retries of a call; the number of the first one better than the original, or None."""
        original = previous = sent[0]
        last_bid = next((attempt for attempt in reversed(sent) if attempt.outcome == "bid"), None)
        recovered_by: int | None = None
        tried = False
        for number, attempt in enumerate(sent[1:], 1):
            rank = RANK.get(attempt.outcome, 0)
            if attempt.outcome != "cancelled":
                tried = True
                success = rank > RANK.get(previous.outcome, 0)
                bid = attempt.outcome == "bid"
                self.numbered[partner, previous.outcome, number, success, bid] += 1
                earned = revenue if attempt is last_bid else None
                self.retries.append(
                    Retry(first_ts, attempt.ts, partner, previous.outcome, success, bid, attempt.latency, earned)
                )
            if attempt.late is not None:
                counts.late_checked += 1
                counts.late += attempt.late
            if recovered_by is None and rank > RANK.get(original.outcome, 0):
                recovered_by = number
            previous = attempt
        counts.retried += tried
        counts.recovered += recovered_by is not None
        return recovered_by

    def calls_rows(self) -> list[Row]:
        """Rows of the table `calls`."""
        return [self._calls_row(partner, counts) for partner, counts in sorted(self.counts.items())]

    def _calls_row(self, partner: str, counts: CallCounts) -> Row:
        return {
            "stream": self.stream,
            "partner": partner,
            "calls": counts.calls,
            "calls_sent": counts.calls_sent,
            "attempts_sent": counts.sent,
            "not_sent": counts.not_sent,
            "retries": counts.sent - counts.calls_sent,
            "actual_success": ratio(counts.answered, counts.sent - counts.cancelled),
            "effective_success": ratio(counts.answered_calls, counts.calls_sent - counts.cancelled_calls),
            "amplification": ratio(counts.sent, counts.calls_sent),
            "retried": counts.retried,
            "recovered": counts.recovered,
            "late_retries": counts.late if counts.late_checked else None,
            "late_checked": counts.late_checked,
        }

    def retries_rows(self) -> list[Row]:
        """Rows of the table `retries`."""
        tallies: defaultdict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
        for (partner, trigger, number, success, bid), times in self.numbered.items():
            tally = tallies[partner, trigger, number]
            tally[0] += times
            tally[1] += times * success
            tally[2] += times * bid
        return [self._retries_row(*group, *tally) for group, tally in sorted(tallies.items())]

    def _retries_row(self, partner: str, trigger: str, number: int, n: int, successes: int, bids: int) -> Row:
        low, high = wilson(successes, n, Z_TWO_SIDED)
        return {
            "stream": self.stream,
            "partner": partner,
            "trigger": trigger,
            "retry_no": number,
            "retries": n,
            "successes": successes,
            "bids": None if self.stream == "postback" or partner in self.bids_unknown else bids,
            "success_rate": successes / n,
            "success_low": low,
            "success_high": high,
        }

    def fate_rows(self) -> list[Row]:
        """Rows of the table `fate`."""
        return [
            {"stream": self.stream, "partner": partner, "fate": end, "calls": calls}
            for (partner, end), calls in sorted(self.fates.items())
        ]


def fate(last: Attempt, sent: int, recovered_by: int | None) -> str:
    """What became of a call whose original failed."""
    if recovered_by is not None:
        return f"recovered_{recovered_by}"
    if last.outcome in NOT_SENT:
        return "no_time" if last.stopped_by == "no_time" else "stopped"
    return "exhausted" if sent > 1 else "not_retried"
