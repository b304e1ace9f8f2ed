"""What a policy's breakers would have stopped, on top of the retries that the policy removes.

A breaker depends on every attempt before, so it is walked attempt by attempt, but only where it could open at all;
elsewhere it is closed and stops nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.ranges import HOUR
from dashboard.whatif.near import UNCUT, Near, near
from dashboard.whatif.policy import Policy
from dashboard.whatif.spans import Span, candidates, merged
from dashboard.whatif.walk import Ints, Stopped, Walk

Row = dict[str, Any]

WARM_UP_US = 24 * HOUR
"""How long before a range its breakers are watched: one that is open as the range begins opened within that."""

FIRST = np.iinfo(np.int64).min
"""Before every instant."""

WON = 5
"""Depth of a call that won."""


def block(snapshot: Snapshot, policy: Policy, filters: Filters) -> list[tuple[str, Row]]:
    """What breakers remove from the calls of a range: partner and sums of each stretch in which one was walked.

    Bids are counted as the log shows them, also of partners of whose answers some cannot be told apart.
    """
    call_us = int(float(snapshot.settings["call_span_s"]) * 1_000_000)
    lo = None if filters.frm_us is None else filters.frm_us - WARM_UP_US
    hi = (snapshot.span("exchange").newest_us or 0) + 1
    if filters.to_us is not None:
        hi = min(hi, filters.to_us + call_us)
    factor = Decimal("0.001") if snapshot.settings["price_unit"] == "cpm" else Decimal(1)
    done: dict[Span, Row] = {}
    pending = candidates(snapshot, policy, filters, (lo, hi))
    while pending:
        with near(snapshot, policy, pending) as loaded:
            walks = _Walks(loaded, policy, loaded.cuts.copy(), call_us)
            stretches = [walks.walk(span) for span in pending]
            settled = [one for one in stretches if one.settled_us <= one.span.hi_us or one.span.hi_us >= hi]
            done |= walks.sums(settled, filters, factor)
        longer = [span.longer() for span in pending if span not in done]
        spans = merged([*done, *longer])
        pending = [span for span in spans if span not in done]
        done = {span: done[span] for span in spans if span in done}
    return [(span.partner, row) for span, row in done.items()]


@dataclass(frozen=True)
class _Stretch:
    """What a walk over one span took away: `removed` are places in the columns."""

    span: Span
    removed: Ints
    opened_us: Ints
    settled_us: float


@dataclass(frozen=True)
class _Walks:
    """Walks over what is loaded. `cuts` is their own, and theirs together: no two spans share a call that is cut."""

    loaded: Near
    policy: Policy
    cuts: Ints
    call_us: int

    def walk(self, span: Span) -> _Stretch:
        part = self.loaded.of(span.partner)
        columns = {name: values[part] for name, values in self.loaded.columns.items()}
        breaker = self.policy.of(span.partner).breaker
        assert breaker is not None
        us, call, step = columns["us"], columns["call"], columns["step"]
        walk = Walk(us, call, step, columns["failed"], columns["judged"], self.cuts, breaker)
        lo, hi, end = (int(place) for place in np.searchsorted(us, [span.lo_us, span.hi_us, span.hi_us + self.call_us]))
        stopped = walk.run(lo, hi, span.check_us)
        removed = self._removed(walk, stopped, slice(lo, end))
        settled = float("inf") if stopped.settled_us is None else stopped.settled_us
        if removed.size:
            settled = max(settled, int(us[removed[-1]]) + breaker.window_us)
        return _Stretch(span, removed + part.start, us[stopped.opened], settled)

    def _removed(self, walk: Walk, stopped: Stopped, part: slice) -> Ints:
        """The places of what is gone of the calls that the breaker cut."""
        nothing = np.zeros(0, np.int64)
        places = np.concatenate([*stopped.blocked, nothing])
        if not places.size:
            return nothing
        steps, call = walk.step[part], walk.call[part]
        gone = (steps >= self.cuts[call]) & (steps < self.loaded.cuts[call]) & np.isin(call, walk.call[places])
        found: Ints = np.flatnonzero(gone) + part.start
        return found

    def sums(self, stretches: list[_Stretch], filters: Filters, factor: Decimal) -> dict[Span, Row]:
        """What is gone from the calls that began in the range, by span."""
        lo = FIRST if filters.frm_us is None else filters.frm_us
        hi = UNCUT if filters.to_us is None else filters.to_us
        every = np.concatenate([*(one.removed for one in stretches), np.zeros(0, np.int64)])
        places = np.unique(every)
        began, stage = self.loaded.calls_of(places)
        wins = self.loaded.win_steps[self.loaded.columns["call"][places]] == self.loaded.columns["step"][places]
        prices = self.loaded.prices(places[wins], began[wins])
        told: dict[Span, Row] = {}
        for one in stretches:
            at = np.searchsorted(places, one.removed)
            in_range = (began[at] >= lo) & (began[at] < hi)
            removed = one.removed[in_range]
            opened = int(np.count_nonzero((one.opened_us >= lo) & (one.opened_us < hi)))
            money = _revenue([prices.get(place, {}) for place in removed.tolist()], factor)
            told[one.span] = self.row(removed, stage[at][in_range]) | {"opened": opened, "revenue_lost": money}
        return told

    def row(self, places: Ints, stage: Ints) -> Row:
        """Sums over removed attempts, of which `stage` tells how deep their calls got."""
        loaded = self.loaded
        some = {name: values[places] for name, values in loaded.columns.items()}
        call, step = some["call"], some["step"]
        first = step == self.cuts[call]
        late, known = (some[name] & (step > 0) & some["judged"] for name in ("late", "late_known"))
        timed = ~np.isnan(some["latency_ms"])
        judged = int(np.count_nonzero(known))
        return {
            "attempts_saved": len(places),
            "blocked": int(np.count_nonzero(first)),
            "calls_unsent": int(np.count_nonzero(step == 0)),
            "calls_cut": int(np.count_nonzero(first & (loaded.cuts[call] == UNCUT))),
            "ms_saved": float(some["latency_ms"][timed].sum()) if timed.any() else None,
            "answered_lost": int(np.count_nonzero(step == loaded.answer_steps[call])),
            "judged_lost": int(np.count_nonzero(step == loaded.judged_steps[call])),
            "bids_lost": int(np.count_nonzero(step == loaded.bid_steps[call])),
            "wins_lost": int(np.count_nonzero((step == loaded.win_steps[call]) & (stage >= WON))),
            "late_saved": int(np.count_nonzero(late)) if judged else None,
            "late_judged": judged,
        }


def _revenue(won: list[dict[str, Decimal]], factor: Decimal) -> dict[str, Decimal]:
    """Money of some calls by currency."""
    told: dict[str, Decimal] = {}
    for prices in won:
        for currency, price in prices.items():
            told[currency] = told.get(currency, Decimal(0)) + price * factor
    return dict(sorted(told.items()))
