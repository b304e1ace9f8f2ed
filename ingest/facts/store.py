"""Write the staged facts of a load as Parquet: one part a relation and UTC day, rows by hour, partner and time."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import duckdb

from ingest.facts.columns import COLUMNS
from ingest.models.parts import Part, Parts, quote, quote_name, scan
from ingest.models.relations import DAY_US, HOUR_US

#: Rows of a relation from which on its stage goes when they are written, and of a day that is written by itself.
LARGE_ROWS = 100_000

#: Order of rows within an hour: what a page reads together lies together.
ORDER = {
    "attempts": "partner, ts",
    "auctions": "ts",
    "notices": "ts",
    "breaker_events": "ts",
    "postbacks": "key_id, ts",
}


def order_of(relation: str) -> str:
    """How rows of a fact relation follow one another in a part: the columns of an `order by`."""
    return f"epoch_us(ts) // {HOUR_US}, {ORDER[relation]}"


def write_facts(parts: Parts) -> dict[str, int]:
    """Write `stage_<relation>` of every fact relation; gives the number of rows of each."""
    return {relation: _write(parts, relation) for relation in ORDER}


def _write(parts: Parts, relation: str) -> int:
    days = parts.con.execute(
        f"select epoch_us(ts) // {DAY_US}, count(*) from stage_{relation} group by 1 order by 1"
    ).fetchall()
    if not days:
        return 0
    total = sum(int(count) for _, count in days)
    (parts.root / "facts" / relation).mkdir(parents=True, exist_ok=True)
    columns = _columns(parts.con, relation, sparse=total >= LARGE_ROWS)
    apart = [(day, count) for day, count in days if count >= LARGE_ROWS or len(days) == 1]
    before = len(parts.written)
    for day, count in apart:
        _write_day(parts, relation, columns, day, count)
    if len(apart) < len(days):
        _write_days(parts, relation, columns, [day for day, _ in apart])
    if total >= LARGE_ROWS:
        _release(parts, relation, parts.written[before:])
    return total


def _columns(con: duckdb.DuckDBPyConnection, relation: str, *, sparse: bool) -> tuple[str, str]:
    """Columns to sort, and what to write of them: with `sparse` a column without any value is not carried along."""
    held, written = [], []
    for name, kind in COLUMNS[relation]:
        column = quote_name(name)
        if sparse and not con.execute(f"select 1 from stage_{relation} where {column} is not null limit 1").fetchone():
            written.append(f"null::{kind} as {column}")
        else:
            held.append(column)
            written.append(column)
    return ", ".join(held), ", ".join(written)


def _write_day(parts: Parts, relation: str, columns: tuple[str, str], day: int, count: int) -> None:
    held, written = columns
    path = parts.root / "facts" / relation / f"{day}-{parts.generation}.parquet"
    rows = (
        f"select {held} from stage_{relation} where ts >= make_timestamp({day * DAY_US})"
        f" and ts < make_timestamp({(day + 1) * DAY_US}) order by {order_of(relation)}"
    )
    parts.con.execute(f"copy (select {written} from ({rows})) to {quote(str(path))} (format parquet, compression zstd)")
    _took(parts, relation, path, count)


def _write_days(parts: Parts, relation: str, columns: tuple[str, str], but: list[int]) -> None:
    """Write the small days in one go."""
    held, written = columns
    staged = parts.root / "tmp" / f"facts-{relation}-{parts.generation}"
    unit = f"epoch_us(ts) // {DAY_US}"
    others = f" where {unit} not in ({', '.join(map(str, but))})" if but else ""
    rows = f"select {held} from stage_{relation}{others} order by {order_of(relation)}"
    listed = parts.con.execute(
        f"copy (select {written}, {unit} as unit from ({rows})) to {quote(str(staged))}"
        " (format parquet, compression zstd, partition_by (unit), return_stats)"
    ).fetchall()
    for number, (name, count, *_) in enumerate(listed):
        day = Path(name).parent.name.partition("=")[2]
        path = parts.root / "facts" / relation / f"{day}-{parts.generation}-{number}.parquet"
        Path(name).rename(path)
        _took(parts, relation, path, count)
    shutil.rmtree(staged, ignore_errors=True)


def _release(parts: Parts, relation: str, written: Sequence[Part]) -> None:
    """Let the written parts go by the name of the stage, whose memory is given back."""
    parts.con.execute(f"drop table stage_{relation}")
    parts.con.execute(f"create temp view stage_{relation} as select * from {scan(parts.root, written)}")


def _took(parts: Parts, relation: str, path: Path, rows: int) -> None:
    lo, hi = parts.con.execute(
        f"select min(epoch_us(ts)), max(epoch_us(ts)) from read_parquet({quote(str(path))}, hive_partitioning = false)"
    ).fetchall()[0]
    parts.add(Part(relation, str(path.relative_to(parts.root)), int(rows), int(lo), int(hi)))
