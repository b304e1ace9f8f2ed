"""Retry-After in the shapes that servers give it."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import NamedTuple

from ingest.simulate.stats import EPOCH
from ingest.simulate.timeline import SECOND

_UNUSABLE = ('"soon"', "-3", '"1.5"')


class Wait(NamedTuple):
    """The key of the line (with a comma before it), and the microseconds that a reader knows; None: no wait."""

    key: str
    us: int | None
    mended: bool = False
    """The key is there and says nothing usable."""


def no_wait() -> Wait:
    """An answer without the header."""
    return Wait("", None)


def seconds(rng: Random, count: int) -> Wait:
    """So many seconds, as text or as a number."""
    return Wait(f',"retry_after":{count}' if rng.random() < 0.3 else f',"retry_after":"{count}"', count * SECOND)


def until(answered: int, count: int) -> Wait:
    """An HTTP-date, so many seconds after the answer, cut to whole seconds; one that is past asks for no wait."""
    date = (answered + count * SECOND) // SECOND * SECOND
    text = (EPOCH + timedelta(microseconds=date)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    return Wait(f',"retry_after":"{text}"', max(0, date - answered))


def unusable(rng: Random) -> Wait:
    """A header that is none."""
    return Wait(f',"retry_after":{rng.choice(_UNUSABLE)}', None, mended=True)


def any_wait(rng: Random, answered: int, low: int, high: int) -> Wait:
    """One of the shapes, of `low` seconds and more but less than `high`."""
    count = rng.randrange(low, high)
    point = rng.random()
    if point < 0.88:
        return seconds(rng, count)
    if point < 0.95:
        return until(answered, count + 1)
    return unusable(rng) if point < 0.97 else no_wait()
