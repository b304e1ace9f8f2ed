"""What came after each 429: its next request, and the requests that its Retry-After should have held back.

Keys and endpoints are numbers here (`gid`); times are epoch microseconds.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.models.relations import HOUR_US
from ingest.states.scope import in_order, integers

#: A time after all others, and a bound of durations that can still be added to one (microseconds).
NEVER_US = 10**17

Micros = NDArray[np.int64]


class Requests:
    """Requests of some hours by group, each group in order."""

    def __init__(self, gid: Micros, us: Micros) -> None:
        self.gid, self.us = in_order(gid, us)

    def of(self, gid: int) -> tuple[int, int]:
        """Where the requests of a group begin and end."""
        lo, hi = np.searchsorted(self.gid, [gid, gid + 1])
        return int(lo), int(hi)


class Questions:
    """Which request came first after `ends_us`? `next_us` is the answer as far as is known, NEVER_US where none is.

    Questions that are not `fresh` were asked by an earlier load, which looked through all there was.
    """

    def __init__(self, gid: Micros, ends_us: Micros, next_us: Micros, fresh: NDArray[np.bool_]) -> None:
        order = np.lexsort((ends_us, gid))
        self.gid, self.ends_us = gid[order], ends_us[order]
        self.next_us, self.fresh = next_us[order], fresh[order]

    def __len__(self) -> int:
        return len(self.gid)

    def answer(self, requests: Requests) -> None:
        """Take earlier answers from `requests`."""
        if not len(requests.us):
            return
        asked = np.flatnonzero((self.next_us > requests.us.min()) & (self.ends_us < requests.us.max()))
        starts = np.flatnonzero(np.diff(self.gid[asked], prepend=-1))
        for mine in np.split(asked, starts[1:]) if len(asked) else ():
            lo, hi = requests.of(int(self.gid[mine[0]]))
            later = np.append(requests.us[lo:hi], NEVER_US)
            found = later[np.searchsorted(later, self.ends_us[mine], side="right")]
            self.next_us[mine] = np.minimum(self.next_us[mine], found)

    def unsure_from(self, touched: set[int]) -> int | None:
        """The earliest end of a fresh question whose answer may lie in an hour that was not looked at."""
        hours = np.array(sorted(touched), np.int64)
        hour = self.ends_us // HOUR_US * HOUR_US
        here, after = np.isin(hour, hours), np.isin(hour + HOUR_US, hours)
        sure = here & ((self.next_us < hour + HOUR_US) | (after & (self.next_us < hour + 2 * HOUR_US)))
        self._unsure = self.fresh & ~sure
        return int(self.ends_us[self._unsure].min()) if self._unsure.any() else None

    def open_after(self, us: int) -> list[int]:
        """Groups with a question of `unsure_from` that has no answer up to `us`."""
        return [int(gid) for gid in np.unique(self.gid[self._unsure & (self.next_us > us)])]

    def table(self) -> pa.Table:
        """gid, ends_us, next_us."""
        return integers(gid=self.gid, ends_us=self.ends_us, next_us=self.next_us)


class Windows:
    """Times between `ends_us` and `free_us` in which a group should have sent nothing."""

    def __init__(self, gid: Micros, ends_us: Micros, free_us: Micros) -> None:
        order = np.lexsort((ends_us, gid))
        self.gid, self.ends_us = gid[order], ends_us[order]
        self.reach_us = free_us[order]
        groups, starts, counts = np.unique(self.gid, return_index=True, return_counts=True)
        self._of = {
            gid: (lo, lo + count)
            for gid, lo, count in zip(groups.tolist(), starts.tolist(), counts.tolist(), strict=True)
        }
        for lo, hi in self._of.values():
            np.maximum.accumulate(self.reach_us[lo:hi], out=self.reach_us[lo:hi])

    def __len__(self) -> int:
        return len(self.gid)

    def wasted(self, requests: Requests) -> pa.Table:
        """Times (gid, us) of the requests that lie in a window."""
        found = np.zeros(len(requests.us), np.bool_)
        for gid, (first, last) in self._of.items():
            lo, hi = requests.of(gid)
            us = requests.us[lo:hi]
            place = np.searchsorted(self.ends_us[first:last], us) - 1
            found[lo:hi] = (place >= 0) & (self.reach_us[first:last][place] > us)
        return integers(gid=requests.gid[found], us=requests.us[found])
