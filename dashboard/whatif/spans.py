"""Stretches of time in which a partner's breaker could open, to be walked attempt by attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.context import Context
from dashboard.tables.ranges import MINUTE, Range, hull, within
from dashboard.whatif.policy import Breaker, Policy
from dashboard.whatif.statement import FOLDER

PIECES = 10
"""Parts of a window that are counted before single attempts are looked at."""


@dataclass(frozen=True)
class Span:
    """Attempts of `partner` in [lo_us, hi_us) are walked; from `check_us` on the breaker may open.

    What lies between `lo_us` and `check_us` only fills the first window. Before `check_us` it cannot be open.
    """

    partner: str
    lo_us: int
    check_us: int
    hi_us: int

    def longer(self) -> Span:
        """The span with more room for a breaker that was not closed for good at its end."""
        return Span(self.partner, self.lo_us, self.check_us, 2 * self.hi_us - self.check_us + MINUTE)


def candidates(snapshot: Snapshot, policy: Policy, filters: Filters, span: Range) -> list[Span]:
    """Every stretch of `span` in which a breaker of the policy could open, by partner and time."""
    found: list[Span] = []
    listed = sorted(policy.partners)
    groups: dict[Breaker, list[str]] = {}
    for partner in listed:
        own = policy.partners[partner].breaker
        if own is not None:
            groups.setdefault(own, []).append(partner)
    context = Context(snapshot, filters, pruned=True)
    if policy.default.breaker is not None:
        others = Filters(partners=tuple(listed))
        condition = f"not ({Context(snapshot, others).partners('partner')})" if listed else "true"
        found += _hot(context, policy.default.breaker, condition, span)
    for breaker, partners in groups.items():
        found += _hot(context, breaker, Context(snapshot, Filters(partners=tuple(partners))).partners("partner"), span)
    return merged(found)


def _hot(context: Context, breaker: Breaker, condition: str, span: Range) -> list[Span]:
    piece_us = max(breaker.window_us // PIECES, 1)
    back = -(-breaker.window_us // MINUTE)
    around = hull((span,))
    text = (FOLDER / "hot.sql").read_text(encoding="utf-8")
    sql = text.format(
        minute_attempts=context.source("minute_attempts", around),
        attempts=context.source("attempts", around),
        chain_steps=context.source("chain_steps", around),
        in_minutes=within("minute_us", (_whole_minutes(span),)),
        of_partners=f"{condition} and {context.partners('partner')}",
        back_us=back * MINUTE,
        back_minutes=back,
        piece_us=piece_us,
        pieces=PIECES,
        least=breaker.failure_share * breaker.min_attempts * (1 - 1e-9),
        share=breaker.failure_share * (1 - 1e-9),
    )
    return [
        Span(partner, piece * piece_us - breaker.window_us, piece * piece_us, (piece + 1) * piece_us)
        for partner, piece in context.snapshot.query(sql)
    ]


def _whole_minutes(span: Range) -> Range:
    lo, hi = span
    return None if lo is None else lo // MINUTE * MINUTE, hi


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those of a partner that touch made one."""
    told: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.partner, span.check_us)):
        last = told[-1] if told else None
        if last is not None and last.partner == span.partner and span.lo_us <= last.hi_us:
            told[-1] = Span(span.partner, last.lo_us, last.check_us, max(last.hi_us, span.hi_us))
        else:
            told.append(span)
    return told


def minutes(spans: Sequence[Span]) -> tuple[list[str], list[int]]:
    """Partner and number of each minute that the spans touch."""
    touched = {
        (span.partner, minute) for span in spans for minute in range(span.lo_us // MINUTE, span.hi_us // MINUTE + 1)
    }
    pairs = sorted(touched)
    return [partner for partner, _ in pairs], [minute for _, minute in pairs]
