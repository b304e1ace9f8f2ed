"""Whether a sender's retries come all at once: in the same millisecond, or on the edge of a second or a minute."""

from __future__ import annotations

import math
from typing import NamedTuple

LEAST_RETRIES = 30
"""With fewer retries it cannot be told."""

SIGNIFICANT = 0.001
"""Chance of a false alarm that each of the two edges may have."""

_CROWDED_SHARE = 0.1
_EDGES = (("second", 0.05), ("minute", 1 / 60))
_LEAST_EXCESS = 4


class Timing(NamedTuple):
    """When retries came.

    `origins`: retries, those of one order or auction in the same millisecond counted once; `crowded`: such of them as
    shared their millisecond with more others than chance brings together. Of each second (minute) with retries one,
    chosen blindly, has a vote: so many `seconds`, of which so many fell into its first 50 ms (the minute's first
    second).
    """

    delays: int
    origins: int
    crowded: int
    seconds: int
    second_edges: int
    minutes: int
    minute_edges: int


def is_synchronised(timing: Timing) -> bool | None:
    """Whether many retries come at once; None with fewer than 30."""
    if min(timing.delays, timing.origins) < LEAST_RETRIES:
        return None
    if timing.crowded >= _CROWDED_SHARE * timing.origins:
        return True
    votes = {"second": (timing.seconds, timing.second_edges), "minute": (timing.minutes, timing.minute_edges)}
    return any(
        edges >= _LEAST_EXCESS * chance * count and at_least(edges, count, chance) < SIGNIFICANT
        for name, chance in _EDGES
        for count, edges in (votes[name],)
    )


def at_least(found: int, count: int, chance: float) -> float:
    """Probability that of `count` independent events, each of that `chance`, `found` or more come true."""
    if found <= 0:
        return 1.0
    logs = (
        math.lgamma(count + 1)
        - math.lgamma(hits + 1)
        - math.lgamma(count - hits + 1)
        + hits * math.log(chance)
        + (count - hits) * math.log1p(-chance)
        for hits in range(found, count + 1)
    )
    return min(1.0, sum(math.exp(log) for log in logs))
