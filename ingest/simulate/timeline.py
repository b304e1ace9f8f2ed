"""When storms rage, and what the breakers of a partner do then, on each node."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

SECOND = 1_000_000
NODES = ("ex-a", "ex-b")
_SLOT_S = 12 * 3600
_OPEN_S = 30
_BLINKS = 4
"""Short opens in a slot."""

Transition = tuple[int, str, str]
"""Moment, state before, state after."""


def storms(rng: Random, begin: int, end: int) -> list[tuple[int, int]]:
    """Begin and end of each storm of a session: one in each twelve hours, or one in a shorter session."""
    slots = max(1, round((end - begin) / SECOND / _SLOT_S))
    length = (end - begin) // slots
    found = []
    for slot in range(slots):
        start = begin + slot * length + int(length * rng.uniform(0.25, 0.45))
        lasting = min(int(length * rng.uniform(0.2, 0.35)), rng.randrange(300, 900) * SECOND)
        found.append((start, start + lasting))
    return found


def blinks(rng: Random, begin: int, end: int) -> list[tuple[int, int]]:
    """Begin and end of moments of trouble, each below a second: a few in every twelve hours."""
    slots = max(1, round((end - begin) / SECOND / _SLOT_S))
    length = (end - begin) // slots // _BLINKS
    found = []
    for slot in range(slots * _BLINKS):
        start = begin + slot * length + int(length * rng.uniform(0.3, 0.9))
        found.append((start, start + rng.randrange(SECOND // 12, SECOND * 9 // 10)))
    return found


@dataclass
class Breaker:
    """The breaker of one partner: a script for each node, written when a storm comes near.

    `armed_s`: it trips so long after a storm began, between the two; None: never. With `blinking`, it is open for
    as long as the storm lasts, and no longer.
    """

    storms: Sequence[tuple[int, int]]
    armed_s: tuple[int, int] | None = None
    blinking: bool = False
    scripts: dict[str, list[Transition]] = field(default_factory=lambda: {node: [] for node in NODES})
    moments: dict[str, list[int]] = field(default_factory=lambda: {node: [] for node in NODES})
    seen: set[str] = field(default_factory=set)
    """Nodes from which the partner was called already."""
    next_storm: int = 0

    def raging(self, ts: int) -> bool:
        """A storm lasts at that moment."""
        return any(start <= ts < end for start, end in self.storms)

    def approach(self, rng: Random, now: int) -> list[tuple[str, Transition]]:
        """Script the trips of a storm that begins within two seconds; the new transitions by node.

        A breaker trips only where every node has called the partner before.
        """
        written: list[tuple[str, Transition]] = []
        while self.next_storm < len(self.storms) and self.storms[self.next_storm][0] <= now + 2 * SECOND:
            start, end = self.storms[self.next_storm]
            self.next_storm += 1
            if self.seen != set(NODES):
                continue
            for node in NODES:
                script = self._script(rng, start, end)
                self.scripts[node] += script
                self.moments[node] += [moment for moment, _, _ in script]
                written += [(node, transition) for transition in script]
        return written

    def _script(self, rng: Random, start: int, end: int) -> list[Transition]:
        if self.blinking:
            return blink(rng, start, end)
        return trips(rng, start, end, self.armed_s) if self.armed_s else []

    def state(self, node: str, ts: int) -> tuple[str, bool]:
        """State at that moment, and whether the probe of a half-open one will fail."""
        script = self.scripts[node]
        at = bisect_right(self.moments[node], ts) - 1
        if at < 0:
            return "closed", False
        failing = at + 1 < len(script) and script[at + 1][2] == "open"
        return script[at][2], failing


def trips(rng: Random, start: int, end: int, armed_s: tuple[int, int]) -> list[Transition]:
    """Open during a storm, probe after 30 s, open again while it lasts, then close; odd microseconds."""
    script: list[Transition] = []
    moment = start + rng.randrange(armed_s[0] * SECOND, armed_s[1] * SECOND)
    if moment >= end:
        return script
    state = "closed"
    while True:
        script.append((moment | 1, state, "open"))
        moment += _OPEN_S * SECOND + rng.randrange(SECOND)
        script.append((moment | 1, "open", "half_open"))
        moment += rng.randrange(SECOND // 4, 2 * SECOND)
        state = "half_open"
        if moment >= end:
            script.append((moment | 1, "half_open", "closed"))
            return script


def blink(rng: Random, start: int, end: int) -> list[Transition]:
    """One open below a second; odd microseconds."""
    probing = end + rng.randrange(SECOND // 20, SECOND // 2)
    return [(start | 1, "closed", "open"), (end | 1, "open", "half_open"), (probing | 1, "half_open", "closed")]
