"""The rules a sender may follow, and how likely they make a delay.

A delay is what the rule says, spread by its jitter, plus what the network and the queues take (`Noise`). A few delays
are anything: a sender that was down, a clock that was set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from dashboard.backoff.sample import Floats

OUTLIERS = 0.04
"""Share of the delays that may be anything."""

JITTERS = {"none": (1.0, 1.0), "full": (0.0, 1.0), "half": (0.5, 1.5)}
"""Each jitter as the range of factors, all alike likely, by one of which a delay is multiplied."""

_LONGEST = np.log(1e8)


@dataclass(frozen=True)
class Rule:
    """A kind of growth with its jitter; `capped` where the delays stop growing at some point."""

    kind: str
    jitter: str
    capped: bool = False

    def growth(self, k: Floats, ratio: float = np.inf) -> Floats:
        """Delay before retry `k`, in units of the first one; `ratio` is that of cap to base."""
        if self.kind == "fixed":
            return np.ones_like(k)
        return np.minimum(k if self.kind == "linear" else 2.0 ** (k - 1), ratio)


Number = TypeVar("Number", float, Floats)


@dataclass(frozen=True)
class Noise(Generic[Number]):
    """What comes on top of the rule: mostly `shift` ms, less by about `early` or more by about `late` ms.

    `relative` is a part of early and late that grows with the delay itself, as a fraction of it. Of several guesses
    each number is a column.
    """

    shift: Number
    early: Number
    late: Number
    relative: Number


def log_likelihood(x: Floats, expected: Floats, low: float, high: float, noise: Noise[Number]) -> Floats:
    """Logarithm of the density of each delay `x`, where the rule says `expected` times a factor in [low, high].

    Where `expected` has a row for each of several guesses, the result has so many, too.
    """
    return mixed(density(x, expected, low, high, noise), OUTLIERS * outlier_density(x))


def mixed(followed: Floats, anything: Floats) -> Floats:
    """Logarithm of a density, of which a part follows the rule and `anything` is the share of the outliers."""
    return np.asarray(np.log(anything + (1 - OUTLIERS) * followed))


def outlier_density(x: Floats) -> Floats:
    """Density of delays that follow no rule: about alike on each scale from milliseconds to a day."""
    return np.asarray(1.0 / ((x + 1.0) * _LONGEST))


def density(x: Floats, expected: Floats, low: float, high: float, noise: Noise[Number]) -> Floats:
    """Density of delays that follow the rule."""
    if low == high:
        return sharp(x, expected * low, noise)
    return spread(x, expected, np.array(low), np.array(high), noise)


def sharp(x: Floats, expected: Floats, noise: Noise[Number]) -> Floats:
    """Density of delays that are what the rule says, and the noise."""
    early = noise.early + noise.relative * expected
    late = noise.late + noise.relative * expected
    beyond = x - expected - noise.shift
    return np.asarray(np.exp(-np.abs(beyond) / np.where(beyond < 0, early, late)) / (early + late))


def spread(x: Floats, expected: Floats, low: Floats, high: Floats, noise: Noise[Number]) -> Floats:
    """Density of delays that are what the rule says times a factor in [low, high], and the noise."""
    early = noise.early + noise.relative * expected
    late = noise.late + noise.relative * expected
    beyond = x - expected * low - noise.shift
    width = np.maximum(expected * (high - low), 1e-3)
    share = reached(beyond, early, late) - reached(beyond - width, early, late)
    return np.asarray(np.maximum(share, 0.0) / width)


def reached(z: Floats, early: Floats, late: Floats) -> Floats:
    """Share of the noise (beyond its shift) that is at most `z`."""
    below = z < 0
    side = np.where(below, early, late)
    rest = side / (early + late) * np.exp(-np.abs(z) / side)
    return np.where(below, rest, 1.0 - rest)
