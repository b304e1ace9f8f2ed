"""The reference breaker: from a partner's attempts in order to the states that it would have been in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.settings import Breaker

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half_open"

Micros = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Run(NamedTuple):
    """Rows `start`..`stop` (exclusive) of one interval of `state`, which began at `since` (epoch microseconds)."""

    state: str
    since: int
    start: int
    stop: int


class Attempts:
    """Sent attempts of one partner in order, with what the window of each row holds."""

    def __init__(self, us: Micros, failed: Flags, breaker: Breaker) -> None:
        self.us = us
        self.failed = failed
        self.breaker = breaker
        self._left = np.searchsorted(us, us - breaker.window_us, side="right")
        self._failures = np.concatenate(([0], np.cumsum(failed)))

    def first_trip(self, start: int, floor: int) -> int:
        """The first row from `start` on at which a closed breaker opens, else the number of rows.

        Rows before `floor` are in no window. Looks in steps that grow, for the next trip is often near.
        """
        size = 256
        while start < len(self.us):
            stop = min(start + size, len(self.us))
            left = np.maximum(self._left[start:stop], floor)
            held = np.arange(start + 1, stop + 1) - left
            failures = self._failures[start + 1 : stop + 1] - self._failures[left]
            trips = (held >= self.breaker.min_attempts) & (failures / np.maximum(held, 1) >= self.breaker.failure_share)
            if trips.any():
                return start + int(trips.argmax())
            start, size = stop, size * 4
        return start

    def replay(self, start: int, state: str, since: int) -> list[Run]:
        """Intervals from row `start` on; rows before it are what the window of a closed breaker already holds.

        The first run may be empty: nothing came before the state changed. Every later one is an interval that
        begins here, with or without rows.
        """
        runs = []
        floor = 0
        while True:
            if state == CLOSED:
                trip = self.first_trip(start, floor)
                stop = min(trip + 1, len(self.us))
                runs.append(Run(CLOSED, since, start, stop))
                if trip == len(self.us):
                    return runs
                since, start = int(self.us[trip]), stop
            until = since + self.breaker.open_us
            probe = max(start, int(np.searchsorted(self.us, until)))
            runs.append(Run(OPEN, since, start, probe))
            if probe == len(self.us):
                return runs
            runs.append(Run(HALF_OPEN, until, probe, probe + 1))
            since, start = int(self.us[probe]), probe + 1
            floor = start
            state = OPEN if self.failed[probe] else CLOSED
