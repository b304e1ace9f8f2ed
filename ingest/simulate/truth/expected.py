"""Truth of the expected breakers: what the reference breaker would have done with the attempts of each partner."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from ingest.simulate.records import NOT_SENT, RANK, Attempt, is_failure
from ingest.simulate.stats import iso
from ingest.simulate.truth.retries import Row

WINDOW_US = OPEN_US = 30_000_000
LEAST_ATTEMPTS = 20

Sent = tuple[int, int, bool, str, int, bool]
"""Moment, number, request id unknown, request id, rank, failed: in this order attempts follow each other."""


@dataclass(slots=True)
class Span:
    """One interval; `end` is None while it lasts."""

    state: str
    start: int
    end: int | None = None
    attempts: int = 0
    failures: int = 0
    blocked: int = 0

    def count(self, failed: bool, blocked: bool = False) -> None:
        """One attempt that was sent in it."""
        self.attempts += 1
        self.failures += failed
        self.blocked += blocked


class ReferenceBreaker:
    """Opens at half of 20 or more attempts in 30 s, for 30 s; then one probe decides."""

    def __init__(self, start: int) -> None:
        self.spans = [Span("closed", start)]
        self.window: deque[tuple[int, bool]] = deque()
        self.failures = 0
        """In the window."""

    def attempt(self, ts: int, failed: bool) -> None:
        """The next attempt."""
        span = self.spans[-1]
        if span.state == "closed":
            span.count(failed)
            self._watch(ts, failed)
        elif ts < span.start + OPEN_US:
            span.count(failed, blocked=True)
        else:
            probing = self._half_open()
            probing.count(failed)
            self._turn("open" if failed else "closed", ts)

    def _watch(self, ts: int, failed: bool) -> None:
        self.window.append((ts, failed))
        self.failures += failed
        while self.window[0][0] <= ts - WINDOW_US:
            self.failures -= self.window.popleft()[1]
        if len(self.window) >= LEAST_ATTEMPTS and 2 * self.failures >= len(self.window):
            self.window.clear()
            self.failures = 0
            self._turn("open", ts)

    def _half_open(self) -> Span:
        return self._turn("half_open", self.spans[-1].start + OPEN_US)

    def _turn(self, state: str, ts: int) -> Span:
        self.spans[-1].end = ts
        self.spans.append(Span(state, ts))
        return self.spans[-1]

    def finish(self, newest: int) -> list[Span]:
        """The intervals, when the stream's newest attempt was at that moment."""
        last = self.spans[-1]
        if last.state == "open" and newest >= last.start + OPEN_US:
            self._half_open()
        return self.spans


class ExpectedTruth:
    """Remembers what was sent to each partner."""

    def __init__(self) -> None:
        self.sent: defaultdict[str, list[Sent]] = defaultdict(list)
        self.newest = 0

    def attempt(self, partner: str, attempt: Attempt) -> None:
        """One attempt, sent or not."""
        self.newest = max(self.newest, attempt.ts)
        outcome = attempt.outcome
        if outcome not in NOT_SENT and outcome != "cancelled":
            name = attempt.request_id
            rank = RANK.get(outcome, 0)
            self.sent[partner].append((attempt.ts, attempt.number, name is None, name or "", rank, is_failure(outcome)))

    def rows(self) -> list[Row]:
        """Rows of the table `breakers`, kind `expected`."""
        rows = []
        for partner, sent in sorted(self.sent.items()):
            sent.sort()
            breaker = ReferenceBreaker(sent[0][0])
            for ts, *_, failed in sent:
                breaker.attempt(ts, failed)
            rows += [_row(partner, span) for span in breaker.finish(self.newest)]
        return rows


def _row(partner: str, span: Span) -> Row:
    return {
        "partner": partner,
        "node": None,
        "kind": "expected",
        "state": span.state,
        "from": iso(span.start),
        "to": None if span.end is None else iso(span.end),
        "attempts": span.attempts,
        "failures": span.failures,
        "blocked": span.blocked,
    }
