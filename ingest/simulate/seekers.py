"""Placements that ask again, auction after auction, until somebody bids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from ingest.simulate.backoff import Backoff
from ingest.simulate.exchange import Exchange
from ingest.simulate.sources import Source
from ingest.simulate.truth import Truth

FILL_RATE = 0.25
MOST_ASKS = 8
SHARE = 0.01
"""Rounds of one seeker against the auctions."""


@dataclass(slots=True)
class Seeker:
    """One placement of one source, and how it waits after an auction without a bid."""

    source: Source
    backoff: Backoff
    asking: bool = False

    @property
    def key(self) -> str:
        """The placement as the truth names it."""
        return f"{self.source.name} {self.source.placements[0]}"


def seekers() -> list[Seeker]:
    """One that hammers, one that backs off, one that backs off with jitter."""
    return [
        Seeker(Source("app-eu", ("rewarded",), "eu-west", 300, "attempts"), Backoff("fixed", 300)),
        Seeker(Source("web-us", ("refresh",), "us-east", 260, "auctions"), Backoff("exponential", 500, 8_000)),
        Seeker(
            Source("ctv-us", ("midroll",), "us-east", 500, "attempts"),
            Backoff("exponential", 400, 10_000, jitter="half"),
        ),
    ]


@dataclass
class Seeking:
    """Plays the rounds of all seekers; `later` plans an act at a moment."""

    rng: Random
    exchange: Exchange
    truth: Truth
    later: Callable[[int, Callable[[int], None]], None]
    placements: Sequence[Seeker]

    def __post_init__(self) -> None:
        for seeker in self.placements:
            self.truth.backoff.sender("auction", seeker.key, seeker.backoff)

    def start(self, seeker: Seeker, ts: int) -> None:
        """A round, unless one is still going on."""
        if not seeker.asking:
            seeker.asking = True
            self._ask(seeker, 1, ts)

    def _ask(self, seeker: Seeker, asks: int, ts: int) -> None:
        filled = asks == MOST_ASKS or self.rng.random() < FILL_RATE
        self.exchange.ask(ts, seeker.source, filled)
        seeker.asking = not filled
        if asks > 1:
            self.truth.backoff.delay("auction", seeker.key)
        if not filled:
            ts = (ts & ~1) + seeker.backoff.delay_us(self.rng, asks)
            self.later(ts, partial(self._ask, seeker, asks + 1))
