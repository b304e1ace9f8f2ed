"""The reference breaker walked over attempts in time order, blocking what it would have stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.whatif.policy import Breaker

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STRIDE = 2_048
"""Attempts looked at for an opening in one go; doubled while none is found."""

PROBE_STRIDE = 64
"""The same, looking for a probe."""


@dataclass
class Stopped:
    """What a walk found: places of the attempts that opened the breaker, and of those it did not let through.

    `settled_us`: from then on it is closed and its window holds what it would without it; 0 where it never opened,
    None where it is still open at the end.
    """

    opened: list[int] = field(default_factory=list)
    blocked: list[Ints] = field(default_factory=list)
    settled_us: int | None = 0


@dataclass(frozen=True)
class Walk:
    """Attempts of one partner in time order, and the breaker that they meet.

    `us` (sorted), `call` and `step` (place among the sent attempts of its call) stand for each attempt; `failed` and
    `judged` tell a failure and an attempt that was not cancelled. `cuts` has for each call the first step that is not
    sent: the policy has set it, the breaker lowers it, and what lies behind a cut is not there.
    """

    us: Ints
    call: Ints
    step: Ints
    failed: Bools
    judged: Bools
    cuts: Ints
    breaker: Breaker

    def kept(self, part: slice) -> Bools:
        """Which attempts of a part are still sent."""
        found: Bools = self.step[part] < self.cuts[self.call[part]]
        return found

    def run(self, lo: int, hi: int, check_us: int) -> Stopped:
        """Walk the attempts [lo, hi), of which those from `check_us` on may open the closed breaker."""
        told = Stopped()
        start = lo
        while (place := self.opening(start, hi, check_us)) is not None:
            probe = self.recover(place, hi, told)
            if probe is None:
                told.settled_us = None
                break
            told.settled_us = int(self.us[probe]) + self.breaker.window_us
            start = probe + 1
        return told

    def opening(self, start: int, hi: int, check_us: int) -> int | None:
        """The first attempt at which the breaker, closed and with an empty window at `start`, opens."""
        stride = STRIDE
        seen = start
        while seen < hi:
            end = min(seen + stride, hi)
            window = np.maximum(np.searchsorted(self.us, self.us[seen:end] - self.breaker.window_us, "right"), start)
            left = int(window[0])
            part = slice(left, end)
            counted = self.kept(part) & self.judged[part]
            attempts = np.concatenate(([0], np.cumsum(counted)))
            failures = np.concatenate(([0], np.cumsum(counted & self.failed[part])))
            behind = np.arange(seen, end) - left + 1
            n = attempts[behind] - attempts[window - left]
            f = failures[behind] - failures[window - left]
            opens = counted[seen - left :] & (n >= self.breaker.min_attempts) & (self.us[seen:end] >= check_us)
            opens &= f / np.maximum(n, 1) >= self.breaker.failure_share
            if opens.any():
                return seen + int(np.argmax(opens))
            seen = end
            stride *= 2
        return None

    def recover(self, place: int, hi: int, told: Stopped) -> int | None:
        """Block what comes while it is open since the attempt `place`; the probe that closes it, None without one."""
        while True:
            told.opened.append(place)
            until = int(self.us[place]) + self.breaker.open_us
            end = min(max(int(np.searchsorted(self.us, until, "left")), place + 1), hi)
            told.blocked.append(self.block(place + 1, end))
            probe = self.next_judged(end, hi)
            if probe is None or not self.failed[probe]:
                return probe
            place = probe

    def block(self, lo: int, hi: int) -> Ints:
        """Take away the attempts [lo, hi) that are still sent, and all later ones of their calls; gives the former
        but for those that are later ones themselves.
        """
        stopped = np.flatnonzero(self.kept(slice(lo, hi))) + lo
        np.minimum.at(self.cuts, self.call[stopped], self.step[stopped])
        met: Ints = stopped[self.step[stopped] == self.cuts[self.call[stopped]]]
        return met

    def next_judged(self, lo: int, hi: int) -> int | None:
        """The first attempt in [lo, hi) that is sent and not cancelled."""
        stride = PROBE_STRIDE
        while lo < hi:
            part = slice(lo, min(lo + stride, hi))
            found = np.flatnonzero(self.kept(part) & self.judged[part])
            if found.size:
                return lo + int(found[0])
            lo = part.stop
            stride *= 2
        return None


def cumcount(groups: NDArray[Any]) -> Ints:
    """For each item how many equal ones stand before it."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(groups)])
    first = np.repeat(begins, np.diff(np.append(begins, len(groups))))
    counted = np.empty(len(groups), np.int64)
    counted[order] = np.arange(len(groups)) - first
    return counted
