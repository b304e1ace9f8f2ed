"""How senders wait before they try again."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Backoff:
    """A rule for the delay before retry 1, 2, 3...; `base_ms` and `cap_ms` in ms."""

    kind: str
    """`immediate`, `fixed`, `linear` or `exponential`."""
    base_ms: float = 0.0
    cap_ms: float | None = None
    jitter: str = "none"
    """`none`; `full`: anything from 0 to the delay; `half`: the delay and up to 50 % less or more."""
    tick_s: int | None = None
    """The sender works through what waits at each full so many seconds; the delay is what is left to the next."""

    def delay_us(self, rng: Random, retry_no: int) -> int:
        """The delay before that retry, in microseconds."""
        delay = {
            "immediate": 0.0,
            "fixed": self.base_ms,
            "linear": self.base_ms * retry_no,
            "exponential": self.base_ms * 2 ** (retry_no - 1),
        }[self.kind]
        if self.cap_ms is not None:
            delay = min(delay, self.cap_ms)
        if self.jitter != "none":
            delay *= rng.random() if self.jitter == "full" else rng.uniform(0.5, 1.5)
        return int(delay * 1000)

    def next_tick(self, ts: int, place: int) -> int:
        """The moment of the next working through after `ts`; `place` is where in it, in tenths of a ms."""
        assert self.tick_s is not None
        every = self.tick_s * SECOND
        return (ts // every + 1) * every + place * 100
