"""Delays of one sender, boiled down so that a million of them cost no more than some hundreds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POINTS = 64
"""Most delays of one retry number that are looked at: evenly spaced quantiles of them all."""

MOST_WEIGHT = 80.0
"""What the delays of one retry number may weigh together, in delays: no end of first retries drowns the third ones."""

MOST_NUMBERS = 12
"""Retry numbers after this one add nothing."""


@dataclass(frozen=True)
class Sample:
    """Delays `x` in ms, each with its retry number `k` and its weight `w` in delays; `total` is how many there are."""

    x: Floats
    k: Floats
    w: Floats
    total: int
    resolution_ms: float = 0.001

    @classmethod
    def of(cls, delays: Iterable[tuple[int, float]], resolution_ms: float = 0.001) -> Sample:
        """From pairs of retry number and delay in ms."""
        by_number: dict[int, list[float]] = defaultdict(list)
        for number, delay in delays:
            by_number[number].append(delay)
        grouped = {number: (len(found), _spaced(sorted(found))) for number, found in by_number.items()}
        return cls.of_quantiles(grouped, resolution_ms)

    @classmethod
    def of_quantiles(cls, grouped: Mapping[int, tuple[int, Sequence[float]]], resolution_ms: float = 0.001) -> Sample:
        """From how many delays each retry number has, and evenly spaced quantiles of them (or all of them)."""
        x: list[float] = []
        k: list[int] = []
        w: list[float] = []
        for number, (count, points) in sorted(grouped.items()):
            if not 1 <= number <= MOST_NUMBERS or not points:
                continue
            x += points
            k += [number] * len(points)
            w += [min(float(count), MOST_WEIGHT) / len(points)] * len(points)
        total = sum(count for count, _ in grouped.values())
        return cls(np.array(x, float), np.array(k, float), np.array(w, float), total, resolution_ms)

    @cached_property
    def numbers(self) -> Floats:
        """The retry numbers that occur, in their order."""
        return np.unique(self.k)

    @cached_property
    def weight(self) -> float:
        """Of all delays together."""
        return float(self.w.sum())

    def quantile(self, share: float) -> float:
        """The delay that `share` of the weight does not exceed."""
        return weighted_quantile(self.x, self.w, share)


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """The smallest of `values` up to which `share` of the weight lies."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(reached, share * reached[-1]), len(values) - 1)])


def _spaced(found: list[float]) -> list[float]:
    if len(found) <= POINTS:
        return found
    return [found[int((place + 0.5) * len(found) / POINTS)] for place in range(POINTS)]
