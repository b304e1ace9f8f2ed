"""Truth of the flags: which retries to disable, by partner and trigger and rolled up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ingest.simulate.stats import DAY_US, Z_ONE_SIDED, iso, wilson
from ingest.simulate.truth.retries import Retry, Row, StreamTruth

WINDOW_US = 7 * DAY_US
FORBIDDEN = {"exchange": frozenset({"no_bid", "client_error"}), "postback": frozenset({"client_error"})}
"""Triggers after which a retry is never right, by stream."""


def flags_rows(truth: StreamTruth, times: Sequence[int]) -> list[Row]:
    """Rows of the table `flags`; `times` are the starts of all attempts (or postbacks) of the stream."""
    if not times:
        return []
    newest = max(times)
    begin = newest - WINDOW_US
    first = min(ts for ts in times if ts > begin)
    days = max(1.0, (newest - first) / DAY_US)
    groups: defaultdict[tuple[str, str], list[Retry]] = defaultdict(list)
    for retry in truth.retries:
        if retry.first_ts > begin:
            for partner in (retry.partner, "*"):
                groups[partner, retry.trigger].append(retry)
                groups[partner, "*"].append(retry)
    return [_row(truth, partner, trigger, group, days) for (partner, trigger), group in sorted(groups.items())]


def _row(truth: StreamTruth, partner: str, trigger: str, group: Sequence[Retry], days: float) -> Row:
    n = len(group)
    successes = sum(retry.success for retry in group)
    bound = wilson(successes, n, Z_ONE_SIDED)[1]
    rolled_up = "*" in (partner, trigger)
    forbidden = not rolled_up and trigger in FORBIDDEN[truth.stream]
    latencies = [retry.latency for retry in group if retry.latency is not None]
    last = max((retry.ts for retry in group if retry.success), default=None)
    unknown = any(retry.partner in truth.bids_unknown for retry in group)
    exchange = truth.stream == "exchange"
    return {
        "stream": truth.stream,
        "partner": partner,
        "trigger": trigger,
        "retries": n,
        "successes": successes,
        "upper_bound": bound,
        "verdict": verdict(n, successes, bound, forbidden),
        "last_success": None if last is None else iso(last),
        "retries_per_day": n / days,
        "ms_saved_per_day": sum(latencies) / 10 / days if latencies else None,
        "bids_at_risk": sum(retry.bid for retry in group) if exchange and not unknown else None,
        "revenue_at_risk": _revenue(group) if exchange else None,
    }


def verdict(n: int, successes: int, bound: float, forbidden: bool) -> str:
    """The verdict over n retries of which so many succeeded."""
    if forbidden:
        return "never"
    if n >= 50 and bound < 0.05:
        return "disable"
    if n >= 10 and successes / n < 0.05:
        return "watch"
    return "too_few" if n < 10 else "keep"


def _revenue(group: Iterable[Retry]) -> dict[str, float]:
    """Revenue by currency: CPM prices in ten-thousandths, so a ten-millionth of a unit each."""
    sums: defaultdict[str, int] = defaultdict(int)
    for retry in group:
        for currency, units in (retry.revenue or {}).items():
            sums[currency] += units
    return {currency: units / 10_000_000 for currency, units in sorted(sums.items())}
