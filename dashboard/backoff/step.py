"""The table `backoff`: from what its statement finds about each sender to what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dashboard.backoff.infer import Verdict, infer
from dashboard.backoff.sample import Sample
from dashboard.backoff.synchronised import Timing, is_synchronised

COLUMNS = {
    "stream": "VARCHAR",
    "key": "VARCHAR",
    "kind": "VARCHAR",
    "base_ms": "DOUBLE",
    "cap_ms": "DOUBLE",
    "jitter": "VARCHAR",
    "delays": "BIGINT",
    "synchronised": "BOOLEAN",
}

#: Verdicts that a server keeps: a sender whose delays are the same under other filters, or in newer data, is not
#: searched through again.
KEPT = 1_024


def rows(found: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """A row of the table for each row of the statement; nothing is told from a part of the delays of a range."""
    for sender in found:
        if not sender["whole"]:
            yield sender["stream"], sender["key"], "unclear", None, None, None, None, None
            continue
        verdict = _verdict(sender)
        yield (
            sender["stream"],
            sender["key"],
            verdict.kind,
            _told(verdict.base_ms),
            _told(verdict.cap_ms),
            verdict.jitter,
            sender["delays"],
            _synchronised(sender),
        )


def _verdict(sender: Mapping[str, Any]) -> Verdict:
    grouped = tuple((each["retry_no"], each["delays"], tuple(each["waits_ms"])) for each in sender["by_retry_no"])
    return inferred(grouped, sender["resolution_ms"])


@lru_cache(KEPT)
def inferred(grouped: tuple[tuple[int, int, tuple[float, ...]], ...], resolution_ms: float) -> Verdict:
    """The verdict on retry numbers with how many delays each has and their quantiles in ms."""
    return infer(Sample.of_quantiles({number: (count, points) for number, count, points in grouped}, resolution_ms))


def _synchronised(sender: Mapping[str, Any]) -> bool | None:
    if sender["resolution_ms"] >= 1_000:
        return None
    return is_synchronised(Timing(**{name: sender[name] for name in Timing._fields}))


def _told(value_ms: float | None) -> float | None:
    """An estimate with the three digits that it is worth."""
    return None if value_ms is None else float(f"{value_ms:.3g}")
