"""When the attempts of an auction ran, as far as the log tells: what is missing comes from timestamps, never as 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.components.data import Row


@dataclass(frozen=True)
class Times:
    """Milliseconds since the auction began. `by_clock`: the start comes from timestamps, for no elapsed time is told.

    `took` None: no latency is told; then `at_most` is the time to the call's next attempt, None where there is none.
    """

    start: float
    by_clock: bool
    took: float | None
    at_most: float | None


def begin(rows: Sequence[Row]) -> datetime:
    """When the auction began: by the attempts that tell their elapsed time, else with the first attempt."""
    told: list[datetime] = [
        row["ts"] - timedelta(milliseconds=float(row["elapsed_ms"])) for row in rows if row["elapsed_ms"] is not None
    ]
    clocks: list[datetime] = [row["ts"] for row in rows]
    return min([*told, *clocks])


def of(rows: Sequence[Row]) -> list[Times]:
    """The times of each attempt of one auction; attempts of a call stand together, in order."""
    start = begin(rows) if rows else datetime.min
    return [_one(rows, place, start) for place in range(len(rows))]


def _one(rows: Sequence[Row], place: int, start: datetime) -> Times:
    row = rows[place]
    after = rows[place + 1] if place + 1 < len(rows) else None
    at_most = None
    if row["sent"] and row["latency_ms"] is None and after is not None and same_call(row, after):
        at_most = milliseconds(row["ts"], after["ts"])
    by_clock = row["elapsed_ms"] is None
    return Times(
        milliseconds(start, row["ts"]) if by_clock else float(row["elapsed_ms"]),
        by_clock,
        None if row["latency_ms"] is None else float(row["latency_ms"]),
        at_most,
    )


def same_call(one: Row, other: Row) -> bool:
    """Whether two attempts are of one call."""
    return bool(one["partner"] == other["partner"] and one["call_us"] == other["call_us"])


def milliseconds(start: datetime, end: datetime) -> float:
    """From one moment to another."""
    return (end - start).total_seconds() * 1000


def uses(rows: Sequence[Row], span_us: int) -> list[list[Row]]:
    """Attempts by the auctions that had the id, oldest first: calls that begin within a call's span are of one."""
    found: list[list[Row]] = []
    for row in rows:
        if found and row["call_us"] <= found[-1][0]["call_us"] + span_us:
            found[-1].append(row)
        else:
            found.append([row])
    return found
