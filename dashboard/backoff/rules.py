"""The rules a sender may follow, and how likely they make a delay.

A delay is what the rule says, spread by its jitter, plus what the network and the queues take (`Noise`). A few delays
are anything: a sender that was down, a clock that was set.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Noise:
    """What comes on top of the rule: mostly `shift` ms, less by about `early` or more by about `late` ms.

    `relative` is a part of early and late that grows with the delay itself, as a fraction of it.
    """

    shift: float
    early: float
    late: float
    relative: float


def log_likelihood(x: Floats, expected: Floats, low: float, high: float, noise: Noise) -> Floats:
    """Logarithm of the density of each delay `x`, where the rule says `expected` times a factor in [low, high]."""
    return np.asarray(np.log(OUTLIERS * outlier_density(x) + (1 - OUTLIERS) * density(x, expected, low, high, noise)))


def outlier_density(x: Floats) -> Floats:
    """Density of delays that follow no rule: about alike on each scale from milliseconds to a day."""
    return np.asarray(1.0 / ((x + 1.0) * _LONGEST))


def density(x: Floats, expected: Floats, low: float, high: float, noise: Noise) -> Floats:
    """Density of delays that follow the rule."""
    early = noise.early + noise.relative * expected
    late = noise.late + noise.relative * expected
    if low == high:
        z = x - expected * low - noise.shift
        scaled = np.where(z < 0, z / early, -z / late)
        return np.asarray(np.exp(scaled) / (early + late))
    width = np.maximum(expected * (high - low), 1e-3)
    upper = reached(x - expected * low - noise.shift, early, late)
    lower = reached(x - expected * low - width - noise.shift, early, late)
    return np.asarray(np.maximum(upper - lower, 0.0) / width)


def reached(z: Floats, early: Floats, late: Floats) -> Floats:
    """Share of the noise (beyond its shift) that is at most `z`."""
    both = early + late
    below = early / both * np.exp(np.minimum(z, 0.0) / early)
    above = 1.0 - late / both * np.exp(-np.maximum(z, 0.0) / late)
    return np.where(z < 0, below, above)
