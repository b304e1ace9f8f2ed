"""Parquet parts of a relation: which files hold it, and how a load rewrites only the hours that it touched."""

from __future__ import annotations

import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ingest.models.relations import DAY_US, HOUR_US

#: Touched hours of one day above which the day is written as one part instead of a part an hour.
HOURS_APART = 3

#: Rows of a day up to which it may be one part that a load writes anew whole; a larger day is rewritten by hours.
DAY_ROWS = 50_000

#: Old rows that are written anew at once: what that holds in memory goes with them.
REWRITTEN_ROWS = 400_000

#: Instants that enclose every row's: of parts that are not bounded in time.
EVER = (0, 2**62)

#: How rows lie within a part where time is not among the first columns.
ORDER = {
    "calls": "call_us, partner",
    "retries": "call_us, partner",
    "auction_stages": "us",
    "deliveries": "us",
    "orders": "call_us, partner",
    "order_retries": "call_us, partner",
    "auction_clicks": "us",
    "order_clicks": "call_us",
    "faulty_orders": "call_us, partner",
    "converted": "us",
    "window_pieces": "endpoint, key, window_us",
    "postback_results": "us, key_id",
    "replays": "us, key_id",
    "key_reuses": "us, key_id",
    "chain_steps": "call_us, partner",
    "chain_ends": "call_us, partner",
    "breaker_states": "partner, node, place",
    "expected_pieces": "partner, hour_us, place",
    "throttles": "us, key",
    "wasted_requests": "us, key",
    "repeats": "us",
}


@dataclass(frozen=True)
class Part:
    """One Parquet file of a relation.

    `path` is relative to the warehouse; `lo_us`..`hi_us` bound its rows in time (inclusive); `unit_us` and
    `span_us` name the day or hour that it holds alone, or hours of one day that others may hold rows of too (facts,
    which only ever grow, have a span of 0). `size` in bytes
    and `digest` tell the file as it was written; a part that no snapshot names yet may lack them.
    """

    relation: str
    path: str
    rows: int
    lo_us: int
    hi_us: int
    unit_us: int = 0
    span_us: int = 0
    size: int = 0
    digest: str = ""

    def holds(self, hours: set[int]) -> bool:
        """Whether one of `hours` lies in its unit."""
        if self.span_us <= HOUR_US:
            return self.unit_us in hours
        return any(self.unit_us <= hour < self.unit_us + self.span_us for hour in hours)


def quote(text: str) -> str:
    """`text` as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def scan(root: Path, parts: Iterable[Part]) -> str:
    """A `read_parquet(...)` over `parts`, which are at least one."""
    return (
        "read_parquet([" + ", ".join(quote(str(root / part.path)) for part in parts) + "], hive_partitioning = false)"
    )


def lying_in(hours: set[int], parts: Iterable[Part]) -> list[Part]:
    """Those of `parts` whose rows may lie in some of `hours`."""
    ordered = sorted(hours)
    found = []
    for part in parts:
        at = bisect_right(ordered, part.lo_us - HOUR_US)
        if at < len(ordered) and ordered[at] <= part.hi_us:
            found.append(part)
    return found


def spanned_by(hours: set[int], parts: Sequence[Part]) -> tuple[set[int], list[Part]]:
    """Those of `parts` that hold some of `hours`; with all hours that these hold.

    Others may hold rows of the latter too, and stay: which rows go is known of `hours` alone.
    """
    found = [part for part in parts if part.holds(hours)]
    held = {hour for part in found for hour in range(part.unit_us, part.unit_us + part.span_us, HOUR_US)}
    return hours | held, found


def _in_turn(units: dict[int, int], replaced: Sequence[Part]) -> Iterator[tuple[dict[int, int], list[Part]]]:
    """The units and the parts that they replace, in turns of about `REWRITTEN_ROWS` old rows.

    One id that stands in the rows of every hour has a whole history written anew, by a load of one line.
    """
    if len(units) == 1 or sum(part.rows for part in replaced) <= REWRITTEN_ROWS:
        yield units, list(replaced)
        return
    waiting, some, rows = sorted(units.items()), dict[int, int](), 0
    for place, (unit, span) in enumerate(waiting):
        some[unit] = span
        rows += sum(part.rows for part in replaced if unit <= part.unit_us < unit + span)
        if rows >= REWRITTEN_ROWS or place == len(waiting) - 1:
            first, end = min(some), unit + span
            yield some, [part for part in replaced if part.unit_us < end and part.unit_us + part.span_us > first]
            some, rows = {}, 0


class Parts:
    """The parts of a warehouse as a load leaves them: those of the last snapshot less the rewritten, plus the new.

    Nothing that a snapshot names is ever changed: `written` are new files, which no one sees before the publish.
    Model rows of hours before `frozen_us`, whose facts are gone, stay as they stand.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        root: Path,
        generation: str,
        parts: Sequence[Part],
        frozen_us: int = 0,
    ) -> None:
        self.con = con
        self.frozen_us = frozen_us
        self.root = root
        self.generation = generation
        self._parts: dict[str, list[Part]] = {}
        for part in parts:
            self._parts.setdefault(part.relation, []).append(part)
        self.written: list[Part] = []
        (root / "tmp").mkdir(parents=True, exist_ok=True)

    def of(self, relation: str) -> list[Part]:
        """Parts that hold rows of `relation`."""
        return [part for part in self._parts.get(relation, []) if part.rows]

    def empty(self, relation: str) -> list[Part]:
        """The part that holds no row, only the columns of `relation`."""
        return [part for part in self._parts.get(relation, []) if not part.rows]

    def all(self) -> list[Part]:
        """Every part of every relation."""
        return [part for parts in self._parts.values() for part in parts]

    def add(self, part: Part) -> None:
        """Take a newly written part in."""
        self._parts.setdefault(part.relation, []).append(part)
        self.written.append(part)

    def take_out(self, gone: Iterable[Part]) -> None:
        """Let `gone` be no parts any more; files of this load go at once, for no one has seen them."""
        gone = set(gone)
        for relation in {part.relation for part in gone}:
            self._parts[relation] = [part for part in self._parts[relation] if part not in gone]
        for part in gone.intersection(self.written):
            (self.root / part.path).unlink(missing_ok=True)

    def covering(self, relation: str, hours: set[int]) -> list[Part]:
        """Parts of `relation` whose unit overlaps one of `hours`."""
        return [part for part in self.of(relation) if part.holds(hours)]

    def rewrite(
        self, relation: str, hours: set[int], fresh: str, keep: str, hour: str = "hour_us", *, by_day: bool = False
    ) -> None:
        """Write the units of `relation` that hold `hours` anew.

        `fresh` is a select of the new rows (all of them in `hours`), `keep` a condition on the old rows of the
        rewritten units (an alias `old`), `hour` the expression that gives a row's hour.
        """
        hours = {one for one in hours if one >= self.frozen_us}
        if not hours:
            return
        if self.frozen_us:
            fresh = f"select * from ({fresh}) where {hour} >= {self.frozen_us}"
        units, replaced = self._plan(relation, hours, by_day)
        self.set_aside(relation, replaced)
        for some, parts in _in_turn(units, replaced):
            old = f"select * from {scan(self.root, parts)} as old where {keep} union all by name " if parts else ""
            self._copy(relation, some, f"{old}select * from ({fresh})", hour, alone=len(units) == 1)

    def set_aside(self, relation: str, replaced: Iterable[Part]) -> None:
        """Let `replaced` be no parts of `relation` any more; their files stay."""
        gone = {part.path for part in replaced}
        self._parts[relation] = [part for part in self._parts.get(relation, []) if part.path not in gone]

    def replace(self, relation: str, rows: str) -> None:
        """Let the select `rows` stand for all of `relation`, in one part."""
        self._parts[relation] = self.empty(relation)
        target = self.root / "models" / relation
        target.mkdir(parents=True, exist_ok=True)
        path = target / f"whole-{self.generation}.parquet"
        order = ORDER.get(relation, "all")
        counted = self.con.execute(
            f"copy ({rows} order by {order}) to {quote(str(path))} (format parquet, compression zstd)"
        ).fetchone()
        self._took(relation, path, int(counted[0]) if counted else 0, EVER[0], EVER[1] - EVER[0] + 1)

    def _plan(self, relation: str, hours: set[int], by_day: bool) -> tuple[dict[int, int], list[Part]]:
        """Units to write (start -> span) and the parts that they replace."""
        units: dict[int, int] = {}
        replaced: list[Part] = []
        days: dict[int, set[int]] = {}
        for hour in hours:
            days.setdefault(hour // DAY_US * DAY_US, set()).add(hour)
        for day, touched in days.items():
            present = [part for part in self.of(relation) if day <= part.unit_us < day + DAY_US]
            is_whole = any(part.span_us == DAY_US for part in present)
            is_small = sum(part.rows for part in present) <= DAY_ROWS
            if is_small and (by_day or is_whole or len(touched) > HOURS_APART):
                units[day] = DAY_US
                replaced += present
            else:  # a part of many hours goes by the hour from then on
                spanned, gone = spanned_by(touched, present)
                units.update(dict.fromkeys(spanned, HOUR_US))
                replaced += gone
        return units, replaced

    def _copy(self, relation: str, units: dict[int, int], rows: str, hour: str, *, alone: bool) -> None:
        """Write those of the `rows` that lie in the units, `alone` where they all do."""
        target = self.root / "models" / relation
        order = ORDER.get(relation, "all")
        if alone:
            ((unit, span),) = units.items()
            target.mkdir(parents=True, exist_ok=True)
            path = target / f"{unit // HOUR_US}-{self.generation}.parquet"
            counted = self.con.execute(
                f"copy ({rows} order by {order}) to {quote(str(path))} (format parquet, compression zstd)"
            ).fetchone()
            self._took(relation, path, int(counted[0]) if counted else 0, unit, span)
            return
        self.con.execute("create or replace temp table part_units (lo bigint, hi bigint)")
        self.con.executemany(
            "insert into part_units values (?, ?)", [(unit, unit + span) for unit, span in sorted(units.items())]
        )
        staged = self.root / "tmp" / f"{relation}-{self.generation}"
        listed = self.con.execute(
            f"copy (select data.*, part_units.lo as unit_us from ({rows}) as data"
            f" inner join part_units on {hour} >= part_units.lo and {hour} < part_units.hi order by {order})"
            f" to {quote(str(staged))} (format parquet, compression zstd, partition_by (unit_us), return_stats)"
        ).fetchall()
        target.mkdir(parents=True, exist_ok=True)
        for number, (name, count, *_) in enumerate(listed):
            unit = int(Path(name).parent.name.partition("=")[2])
            path = target / f"{unit // HOUR_US}-{self.generation}-{number}.parquet"
            Path(name).rename(path)
            self._took(relation, path, int(count), unit, units[unit])
        shutil.rmtree(staged, ignore_errors=True)

    def _took(self, relation: str, path: Path, rows: int, unit: int, span: int) -> None:
        if not rows:
            path.unlink()
            return
        self.add(Part(relation, str(path.relative_to(self.root)), rows, unit, unit + span - 1, unit, span))
