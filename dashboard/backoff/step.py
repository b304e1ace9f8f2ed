"""The table `backoff`: from what its statement finds about each sender to what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from dashboard.backoff.infer import Verdict, infer_each
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

#: Verdicts that a server keeps, the newest: a sender whose delays are the same under other filters, or in newer data,
#: is not searched through again.
KEPT = 1_024
_kept: dict[Delays, Verdict] = {}
_lock = Lock()


def rows(found: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """A row of the table for each row of the statement; nothing is told from a part of the delays of a range."""
    verdicts = iter(_verdicts([_delays(sender) for sender in found if sender["whole"]]))
    for sender in found:
        if not sender["whole"]:
            yield sender["stream"], sender["key"], "unclear", None, None, None, None, None
            continue
        verdict = next(verdicts)
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


class Delays(NamedTuple):
    """What a verdict depends on: of each retry number how many delays there are and their quantiles in ms."""

    grouped: tuple[tuple[int, int, tuple[float, ...]], ...]
    resolution_ms: float

    @property
    def sample(self) -> Sample:
        """The delays as rules are tried on them."""
        return Sample.of_quantiles({number: (n, points) for number, n, points in self.grouped}, self.resolution_ms)


def _delays(sender: Mapping[str, Any]) -> Delays:
    grouped = ((each["retry_no"], each["delays"], tuple(each["waits_ms"])) for each in sender["by_retry_no"])
    return Delays(tuple(grouped), sender["resolution_ms"])


def _verdicts(asked: Sequence[Delays]) -> list[Verdict]:
    """The verdict on each; those that are not kept are found together."""
    found = {delays: verdict for delays in asked if (verdict := _kept.get(delays)) is not None}
    missing = [delays for delays in dict.fromkeys(asked) if delays not in found]
    found.update(zip(missing, infer_each([delays.sample for delays in missing]), strict=True))
    with _lock:
        for delays in missing:
            _kept[delays] = found[delays]
        for delays in list(_kept)[:-KEPT]:
            del _kept[delays]
    return [found[delays] for delays in asked]


def _synchronised(sender: Mapping[str, Any]) -> bool | None:
    if sender["resolution_ms"] >= 1_000:
        return None
    return is_synchronised(Timing(**{name: sender[name] for name in Timing._fields}))


def _told(value_ms: float | None) -> float | None:
    """An estimate with the three digits that it is worth."""
    return None if value_ms is None else float(f"{value_ms:.3g}")
