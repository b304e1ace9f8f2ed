"""Stretches of time in which a partner's breaker could open, to be walked attempt by attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.context import Context, texts
from dashboard.tables.ranges import MINUTE, Range, hull, within
from dashboard.whatif.policy import Breaker, Policy
from dashboard.whatif.statement import template
from dashboard.whatif.walk import Ints

PIECES = 10
"""Parts of a window that are counted before single attempts are looked at."""

SLACK = 1e-9
"""So that a share that is only just reached is not rounded away."""


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
    around, whole = hull((span,)), _whole_minutes(span)
    least = breaker.failure_share * breaker.min_attempts * (1 - SLACK)
    told = {
        "minute_attempts": context.source("minute_attempts", around),
        "in_minutes": within("minute_us", (whole,)),
        "back_us": -(-breaker.window_us // MINUTE) * MINUTE,
        "least": least,
    }
    found = context.snapshot.query(
        template(
            "hot_partners",
            {**told, "of_partners": f"{condition} and {context.partners('partner')}"},
        )
    )
    names = [partner for (partner,) in found]
    if not names:
        return []
    sql = template(
        "hot_pieces",
        {
            **told,
            "attempts": context.source("attempts", around),
            "chain_steps": context.source("chain_steps", around),
            "in_time": within("ts", (whole,)),
            "names": texts(names),
            "piece_us": piece_us,
        },
    )
    with context.snapshot.cursor() as cursor:
        counted = {name: np.asarray(values, np.int64) for name, values in cursor.execute(sql).fetchnumpy().items()}
    codes, pieces = _reached(counted, least, breaker.failure_share * (1 - SLACK))
    return [
        Span(names[code], piece * piece_us - breaker.window_us, piece * piece_us, (piece + 1) * piece_us)
        for code, piece in zip(codes.tolist(), pieces.tolist(), strict=True)
    ]


def _reached(counted: Mapping[str, Ints], least: float, share: float) -> tuple[Ints, Ints]:
    """Code and number of the pieces in which a window could end that holds enough failures.

    It reaches into the pieces before: at most PIECES + 1 of them wholly or in part, at least PIECES - 1 wholly.
    """
    code, piece = counted["code"], counted["piece"]
    if not piece.size:
        return code, piece
    piece = piece - piece.min()
    key = code * (int(piece.max()) + PIECES + 2) + piece
    order = np.argsort(key)
    key = key[order]
    failures, answers = (np.concatenate(([0], np.cumsum(counted[name][order]))) for name in ("failures", "answers"))
    here = np.arange(len(key))
    many = failures[here + 1] - failures[np.searchsorted(key, key - (PIECES + 1))]
    sure = answers[here] - answers[np.searchsorted(key, key - (PIECES - 1))]
    reached = order[(many >= least) & (many >= share * (many + sure))]
    return code[reached], counted["piece"][reached]


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
