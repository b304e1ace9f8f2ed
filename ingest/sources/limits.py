"""How much of a file may be in memory, and how much a compressed one may become."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """All in bytes but the ratio; those that refuse a file are the settings `max_line_bytes` and so on.

    A compressed file is refused when it decodes to more than `decoded_bytes`, or, once `ratio_from_bytes` of it are
    decoded, to more than `ratio` times what was read of it (logs compress 10 to 40 times).
    """

    segment_bytes: int = 64 << 20
    line_bytes: int = 64 << 20
    ratio: int = 300
    ratio_from_bytes: int = 64 << 20
    decoded_bytes: int = 256 << 30
