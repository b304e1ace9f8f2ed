"""Exact figures for the truth: Wilson bounds, nearest-rank quantiles, ISO times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
Z_TWO_SIDED = 1.959963984540054
Z_ONE_SIDED = 1.6448536269514722


def wilson(successes: int, n: int, z: float) -> tuple[float, float]:
    """Lower and upper Wilson bound of successes / n; n must be above 0."""
    share = successes / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def nearest_rank(ordered: Sequence[int], per_mille: int) -> int:
    """The value at rank ceil(n * per_mille / 1000) of values in ascending order; n must be above 0."""
    rank = -(-len(ordered) * per_mille // 1000)
    return ordered[max(rank, 1) - 1]


def ratio(part: int, whole: int) -> float | None:
    """part / whole, unknown where there is no whole."""
    return part / whole if whole else None


def iso(ts: int) -> str:
    """Microseconds since the epoch as ISO 8601 UTC with six digits and Z."""
    return (EPOCH + timedelta(microseconds=ts)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def to_us(moment: datetime) -> int:
    """A moment with a zone as microseconds since the epoch."""
    return (moment - EPOCH) // timedelta(microseconds=1)
