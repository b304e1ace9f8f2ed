"""Truth of what follows a 429: the verdict on each Retry-After, and the requests that came too soon."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict

from ingest.simulate.stats import SECOND_US
from ingest.simulate.truth.audit import AuditTruth
from ingest.simulate.truth.retries import Row

Group = tuple[str, str, str | None]
"""Stream, key and endpoint."""
VERDICTS = ("early", "on_time", "late", "never", "pending")


class ThrottleTruth:
    """Remembers all requests, and of each 429 when it was answered and the wait that it asked for."""

    def __init__(self) -> None:
        self.requests: defaultdict[Group, array[int]] = defaultdict(lambda: array("q"))
        self.refusals: defaultdict[Group, list[tuple[int, int | None]]] = defaultdict(list)

    def request(self, group: Group, ts: int, limited: bool, latency: int | None, wait: int | None) -> None:
        """One request; `latency` in tenths of a ms, `wait` in microseconds."""
        self.requests[group].append(ts)
        if limited:
            self.refusals[group].append((ts + (latency or 0) * 100, wait))

    def rows(self, newest: dict[str, int], audit: AuditTruth) -> list[Row]:
        """Rows of the table `retry_after`; `newest` is the last moment of each stream. Tells `audit` of R10."""
        rows = []
        for group, refusals in sorted(self.refusals.items(), key=lambda item: tuple(map(str, item[0]))):
            moments = sorted(self.requests[group])
            verdicts: Counter[str] = Counter()
            wasted: set[int] = set()
            for answered, wait in refusals:
                if wait is None:
                    continue
                found = verdict(moments, answered, wait, newest[group[0]])
                verdicts[found] += 1
                audit.judge("R10", group[0], group[1], None if found == "pending" else found == "early")
                after = bisect_right(moments, answered)
                wasted.update(range(after, bisect_left(moments, answered + wait - SECOND_US, after)))
            rows.append(_row(group, len(refusals), verdicts, len(wasted)))
        return rows


def verdict(moments: list[int], answered: int, wait: int, newest: int) -> str:
    """What became of a 429 that was answered at a moment; all in microseconds, `moments` ascending."""
    latest = answered + max(2 * wait, wait + SECOND_US)
    at = bisect_right(moments, answered)
    if at == len(moments):
        return "never" if newest > latest else "pending"
    if moments[at] < answered + wait - SECOND_US:
        return "early"
    return "on_time" if moments[at] <= latest else "late"


def _row(group: Group, limited: int, verdicts: Counter[str], wasted: int) -> Row:
    stream, key, endpoint = group
    return {
        "stream": stream,
        "key": key,
        "endpoint": endpoint,
        "limited": limited,
        "with_retry_after": verdicts.total(),
        **{name: verdicts[name] for name in VERDICTS},
        "wasted": wasted,
    }
