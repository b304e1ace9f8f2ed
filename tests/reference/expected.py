"""The reference breaker: what a breaker with these settings would have done, per partner over all its nodes."""

from dataclasses import dataclass

from .calls import Limits, Model, attempt_order, is_sent
from .lines import Row
from .outcomes import ANSWERED, FAILURE
from .selection import Selection
from .values import iso


@dataclass
class Stretch:
    """One interval with what was sent in it; of an open one everything sent was `blocked`."""

    state: str
    start: int
    end: int | None = None
    attempts: int = 0
    failures: int = 0
    blocked: int = 0

    def take(self, attempt: Row) -> None:
        self.attempts += 1
        self.failures += attempt["outcome"] in FAILURE
        self.blocked += self.state == "open"

    def overlaps(self, selection: Selection) -> bool:
        """Whether any of it lies in the range; one of no length lies at its instant."""
        begins = selection.to is None or self.start < selection.to
        if selection.frm is None or self.end is None:
            return begins
        return begins and (self.end > selection.frm or self.start == self.end == selection.frm)


def judged(model: Model, partner: str) -> list[Row]:
    """The attempts that the breaker sees, in order: sent, and not given up by the caller."""
    own = [row for row in model.facts.attempts if row["partner"] == partner]
    return sorted((row for row in own if is_sent(row) and row["outcome"] != "cancelled"), key=attempt_order)


def stretches(attempts: list[Row], limits: Limits, newest: int) -> list[Stretch]:
    """The intervals of one partner; `newest` is the newest instant of the exchange's data."""
    if not attempts:
        return []
    window_us, open_us = limits.window_s * 1_000_000, limits.open_s * 1_000_000
    found = [Stretch("closed", attempts[0]["ts"])]
    window: list[Row] = []

    def turn(state: str, ts: int) -> None:
        found[-1].end = ts
        found.append(Stretch(state, ts))

    for attempt in attempts:
        ts = attempt["ts"]
        if found[-1].state == "open" and ts >= found[-1].start + open_us:
            turn("half_open", found[-1].start + open_us)
        found[-1].take(attempt)
        if found[-1].state == "half_open":
            window = []
            turn("closed" if attempt["outcome"] in ANSWERED else "open", ts)
        elif found[-1].state == "closed":
            window = [row for row in [*window, attempt] if row["ts"] > ts - window_us]
            failures = sum(row["outcome"] in FAILURE for row in window)
            if len(window) >= limits.min_attempts and failures >= limits.failure_share * len(window):
                turn("open", ts)
    if found[-1].state == "open" and newest >= found[-1].start + open_us:
        turn("half_open", found[-1].start + open_us)
    return found


def expected(model: Model, selection: Selection, partner: str) -> list[Row]:
    """The rows of one partner; an interval that overlaps the range is kept whole."""
    limits = model.breakers.get(partner, model.breakers[None])
    newest = max((row["ts"] for row in model.facts.attempts), default=0)
    found = stretches(judged(model, partner), limits, newest)
    return [_row(partner, stretch) for stretch in found if stretch.overlaps(selection)]


def _row(partner: str, stretch: Stretch) -> Row:
    return {
        "partner": partner,
        "node": None,
        "kind": "expected",
        "state": stretch.state,
        "from": iso(stretch.start),
        "to": iso(stretch.end),
        "attempts": stretch.attempts,
        "failures": stretch.failures,
        "blocked": stretch.blocked,
    }
