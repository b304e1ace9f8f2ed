"""Local times in the engine: as the definition places them, or not at all."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import duckdb

DAY = timedelta(days=1)
FIRST, LAST = datetime(2000, 1, 1, 12), datetime(2100, 12, 31, 12)
NO_ZONE = "create or replace temp macro local_time(t) as cast(null as timestamp)"


def local_time(con: duckdb.DuckDBPyConnection, zone: str | None) -> str:
    """The statement that creates `local_time(t)`: the instant of a local time in `zone`.

    It is null without a zone, and where the definition must decide: within a day of a clock change, and where the
    engine's own data of the zone, which may be older, differ.
    """
    if zone is None:
        return NO_ZONE
    try:
        differ = _differing_days(con, zone)
    except duckdb.Error:
        # A zone that only the definition knows.
        return NO_ZONE
    there = f"cast(timezone('{zone}', {{}}) as timestamp)"
    day = "interval 1 day"
    sure = (
        f"{there.format(f't - {day}')} + {day} = {there.format('t')}"
        f" and {there.format(f't + {day}')} - {day} = {there.format('t')}"
    )
    if differ:
        sure += f" and t not between timestamp '{differ[0] - DAY}' and timestamp '{differ[-1] + DAY}'"
    return f"create or replace temp macro local_time(t) as case when {sure} then {there.format('t')} end"


def _differing_days(con: duckdb.DuckDBPyConnection, zone: str) -> list[datetime]:
    """The days at whose noon engine and definition place the local time differently."""
    theirs = con.execute(
        f"select cast(timezone('{zone}', noon) as timestamp) from range(timestamp '{FIRST}', timestamp '{LAST}',"
        " interval 1 day) days(noon) order by noon"
    ).fetchall()
    return [noon for noon, ours, (other,) in zip(*_noons(zone), theirs, strict=True) if ours != other]


@cache
def _noons(zone: str) -> tuple[list[datetime], list[datetime]]:
    """Every day's noon in `zone`, and the instants of these, UTC."""
    place = ZoneInfo(zone)
    noons = [FIRST + DAY * number for number in range((LAST - FIRST).days)]
    return noons, [noon - (noon.replace(tzinfo=place).utcoffset() or timedelta()) for noon in noons]
