"""Acts by their moments."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

Act = Callable[[int], None]


class Agenda:
    """Plays planned acts in order of time; an act may plan more."""

    def __init__(self) -> None:
        self._planned: list[tuple[int, int, Act]] = []
        self._serial = 0

    def plan(self, ts: int, act: Act) -> None:
        """Do this at that moment."""
        self._serial += 1
        heappush(self._planned, (ts, self._serial, act))

    def play(self, before: int | None = None) -> None:
        """Do what was planned for before that moment; None does everything."""
        while self._planned and (before is None or self._planned[0][0] < before):
            ts, _, act = heappop(self._planned)
            act(ts)
