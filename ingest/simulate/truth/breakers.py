"""Truth of the reported breakers: the intervals, and what was sent, failed and blocked in each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection
from itertools import pairwise

from ingest.simulate.records import NOT_SENT, Attempt, is_failure
from ingest.simulate.stats import iso
from ingest.simulate.truth.audit import AuditTruth
from ingest.simulate.truth.retries import Row

Interval = tuple[int, str]
"""Start and state."""


class BreakerTruth:
    """Remembers the attempts of the partners that report a breaker, and the transitions that were written."""

    def __init__(self, reporting: Collection[str]) -> None:
        self.reporting = frozenset(reporting)
        self.attempts: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
        self.events: defaultdict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)

    def attempt(self, partner: str, attempt: Attempt) -> None:
        """One attempt of a partner that reports."""
        self.attempts[partner, attempt.node].append(attempt)

    def event(self, ts: int, partner: str, node: str, state_from: str, state_to: str) -> None:
        """One transition, in order of time."""
        self.events[partner, node].append((ts, state_from, state_to))

    def rows(self, audit: AuditTruth) -> list[Row]:
        """Rows of the table `breakers`, kind `reported`; tells `audit` what was sent in which state (R7)."""
        with_events = {partner for partner, _ in self.events}
        rows = []
        for (partner, node), attempts in sorted(self.attempts.items()):
            attempts.sort(key=lambda attempt: attempt.ts)
            if partner in with_events:
                intervals = self._from_events(partner, node, attempts[0].ts)
            elif any(one.mark for (name, _), group in self.attempts.items() if name == partner for one in group):
                intervals = _from_marks(attempts)
            else:
                continue
            rows += _interval_rows(partner, node, intervals, attempts)
            for attempt in attempts:
                if attempt.outcome not in NOT_SENT:
                    audit.judge("R7", "exchange", partner, _was_open(intervals, attempt.ts))
        return rows

    def _from_events(self, partner: str, node: str, first_ts: int) -> list[Interval]:
        events = self.events[partner, node]
        before = events[0][1] if events else "unknown"
        return _merged([(first_ts, before), *((ts, state_to) for ts, _, state_to in events)])


def _from_marks(attempts: list[Attempt]) -> list[Interval]:
    """Intervals from the column; an attempt that was sent without a mark was closed."""
    intervals: list[Interval] = []
    for attempt in attempts:
        state = attempt.mark or (None if attempt.outcome in NOT_SENT else "closed")
        if state is None and not intervals:
            state = "unknown"
        if state is not None:
            intervals.append((attempt.ts, state))
    return _merged(intervals)


def _was_open(intervals: list[Interval], ts: int) -> bool | None:
    """The state just before that moment is open; None where it is unknown."""
    at = bisect_left(intervals, (ts, "")) - 1
    return None if at < 0 or intervals[at][1] == "unknown" else intervals[at][1] == "open"


def _merged(intervals: list[Interval]) -> list[Interval]:
    """Without intervals that repeat the state before them."""
    return intervals[:1] + [after for before, after in pairwise(intervals) if before[1] != after[1]]


def _interval_rows(partner: str, node: str, intervals: list[Interval], attempts: list[Attempt]) -> list[Row]:
    starts = [start for start, _ in intervals]
    tallies = [[0, 0, 0] for _ in intervals]
    for attempt in attempts:
        tally = tallies[bisect_right(starts, attempt.ts) - 1]
        tally[0] += attempt.outcome not in NOT_SENT
        tally[1] += is_failure(attempt.outcome)
        tally[2] += attempt.outcome == "not_sent_breaker"
    return [
        {
            "partner": partner,
            "node": node,
            "kind": "reported",
            "state": state,
            "from": iso(start),
            "to": iso(end) if end is not None else None,
            "attempts": tally[0],
            "failures": tally[1],
            "blocked": tally[2],
        }
        for (start, state), end, tally in zip(intervals, [*starts[1:], None], tallies, strict=True)
    ]
