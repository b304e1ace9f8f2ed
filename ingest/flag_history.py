"""The kept history of the flags: which retries a load first found to be switched off, and when that ended.

A flag is raised when a load finds a stream's partner and trigger (roll-ups `*` included) `disable` or `never` while
none of theirs stands. It stays until the retries prove better (the two-sided lower bound of their success passes the
flags' bound) or none came for a window; what must never be repeated is cleared by the second alone. Each keeps the
evidence of both moments. Verdicts are those of the table `flags` as it stands after the load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import sqrt
from typing import Literal, NamedTuple

import duckdb

from ingest.models.parts import Part, Parts, scan
from ingest.models.relations import DAY_US, HOUR_US
from ingest.settings import Settings

#: Columns of the snapshot's table `flag_history`, with engine types.
COLUMNS = {
    "stream": "varchar",
    "partner": "varchar",
    "trigger": "varchar",
    "verdict": "varchar",
    "raised": "timestamp",
    "raised_load": "bigint",
    "retries": "bigint",
    "successes": "bigint",
    "upper_bound": "double",
    "cleared": "timestamp",
    "cleared_load": "bigint",
    "cleared_why": "varchar",
    "cleared_retries": "bigint",
    "cleared_successes": "bigint",
    "lower_bound": "double",
}

#: Relation that holds the single retries of a stream.
RETRIES = {"exchange": "retries", "postback": "order_retries"}
ALL = "*"


class Key(NamedTuple):
    """Stream, partner (None: a key that no log told) and trigger; `*` stands for all partners, for all triggers."""

    stream: str
    partner: str | None
    trigger: str


class Flag(NamedTuple):
    """One row of the history: raised with `retries` and `successes`, and cleared with its own (None: it stands)."""

    stream: str
    partner: str | None
    trigger: str
    verdict: str
    raised: datetime
    raised_load: int
    retries: int
    successes: int
    upper_bound: float
    cleared: datetime | None = None
    cleared_load: int | None = None
    cleared_why: Literal["recovered", "no_retries"] | None = None
    cleared_retries: int | None = None
    cleared_successes: int | None = None
    lower_bound: float | None = None

    @property
    def key(self) -> Key:
        """What the flag is about; one of its flags stands at most."""
        return Key(self.stream, self.partner, self.trigger)


class Count(NamedTuple):
    """Retries of a window and how many of them succeeded; of none both are 0."""

    retries: int
    successes: int


def update_history(
    con: duckdb.DuckDBPyConnection,
    parts: Parts,
    streams: Mapping[str, tuple[int, int]],
    settings: Settings,
    history: Iterable[Flag],
    load_id: int,
) -> list[Flag]:
    """The history after a load whose models `parts` holds: flags that it raises behind those it cleared or kept.

    `streams` gives the first and newest event of each stream in epoch microseconds.
    """
    counts = window_counts(con, parts, streams, settings)
    flags = [
        _cleared(flag, counts.get(flag.key, Count(0, 0)), _instant(streams[flag.stream][1]), load_id, settings)
        if flag.cleared is None and flag.stream in streams
        else flag
        for flag in history
    ]
    standing = {flag.key for flag in flags if flag.cleared is None}
    for key, count in sorted(counts.items(), key=lambda item: [(name is None, name or "") for name in item[0]]):
        verdict, bound = judge(key, count, settings)
        if verdict is not None and key not in standing:
            flags.append(Flag(*key, verdict, _instant(streams[key.stream][1]), load_id, *count, bound))
    return flags


def window_counts(
    con: duckdb.DuckDBPyConnection, parts: Parts, streams: Mapping[str, tuple[int, int]], settings: Settings
) -> dict[Key, Count]:
    """Retries of each stream's window by key, roll-ups included; a retry lies at its call's first attempt.

    A partner or trigger that is itself named `*` stands in the roll-ups alone, for its name is theirs.
    """
    sums: dict[Key, list[int]] = {}
    for stream in RETRIES:
        if stream not in streams:
            continue
        newest = streams[stream][1]
        first = newest + 1 - settings.flag_days * DAY_US
        for partner, trigger, retries, successes in con.execute(_counted(parts, stream, first)).fetchall():
            for name in {(p, t) for p in (partner, ALL) for t in (trigger, ALL)}:
                found = sums.setdefault(Key(stream, *name), [0, 0])
                found[0] += retries
                found[1] += successes
    return {key: Count(*found) for key, found in sums.items()}


def judge(key: Key, count: Count, settings: Settings) -> tuple[Literal["never", "disable"] | None, float]:
    """The verdict that raises a flag (None: none does), and the one-sided upper bound of the retries' success."""
    bound = min(wilson(count, settings.flag_z)[1], 1.0)
    single = ALL not in (key.partner, key.trigger)
    if single and (key.trigger == "client_error" or (key.stream == "exchange" and key.trigger == "no_bid")):
        return "never", bound
    if count.retries >= settings.flag_min_retries and bound < settings.flag_upper_bound:
        return "disable", bound
    return None, bound


def wilson(count: Count, z: float) -> tuple[float, float]:
    """Lower and upper Wilson bound of the success of at least one retry; term by term as the table `flags` has it."""
    rate = count.successes / count.retries
    zz = z * z / count.retries
    spread = z * sqrt(rate * (1 - rate) / count.retries + zz / (4 * count.retries))
    return (rate + zz / 2 - spread) / (1 + zz), (rate + zz / 2 + spread) / (1 + zz)


def _cleared(flag: Flag, count: Count, newest: datetime, load_id: int, settings: Settings) -> Flag:
    """`flag` as the load leaves it, given the retries that lie in the window up to `newest`."""
    if count.retries == 0:
        return flag._replace(
            cleared=newest, cleared_load=load_id, cleared_why="no_retries", cleared_retries=0, cleared_successes=0
        )
    lower = wilson(count, settings.interval_z)[0]
    if flag.verdict == "never" or lower <= settings.flag_upper_bound:
        return flag
    return flag._replace(
        cleared=newest,
        cleared_load=load_id,
        cleared_why="recovered",
        cleared_retries=count.retries,
        cleared_successes=count.successes,
        lower_bound=lower,
    )


def _counted(parts: Parts, stream: str, first: int) -> str:
    """Select of partner, trigger, retries and successes from `first` on: whole hours, and the rest of the first one.

    No retry lies beyond the stream's newest event, so the last hour is whole.
    """
    whole = -(-first // HOUR_US) * HOUR_US
    hours = _source(parts, "hour_retries", first, None)
    edge = _source(parts, RETRIES[stream], first, whole)
    return (
        "select partner, trigger, sum(retries)::bigint, sum(successes)::bigint from ("
        f"select partner, trigger, retries, successes from {hours} where stream = '{stream}' and hour_us >= {whole}"
        f" union all select partner, trigger, 1, success from {edge} where call_us >= {first} and call_us < {whole}"
        ") group by partner, trigger having sum(retries) > 0"
    )


def _source(parts: Parts, relation: str, lo: int, hi: int | None) -> str:
    """Rows of `relation` from the parts that overlap [lo, hi)."""
    held: Sequence[Part] = [part for part in parts.of(relation) if part.hi_us >= lo and (hi is None or part.lo_us < hi)]
    return scan(parts.root, held or parts.empty(relation))


def _instant(us: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(microseconds=us)
