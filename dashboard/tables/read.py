"""Running result tables: rows for the command line and the reports, Arrow tables for the pages, SQL for the curious."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.compose import compose
from dashboard.tables.context import BUCKETS, Context
from dashboard.tables.spec import Table, get_table
from dashboard.tables.write import copy_parquet, csv_lines, stored

if TYPE_CHECKING:
    import duckdb
    import pyarrow

ALL = Filters()


@dataclass(frozen=True)
class Result:
    """Rows of a table with their column names and types; `cut` where more rows would have matched."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    values: list[tuple[Any, ...]]
    cut: bool = False

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts: counts are int, rates float, money Decimal, times naive UTC datetimes."""
        return [dict(zip(self.columns, values, strict=True)) for values in self.values]


def fetch(snapshot: Snapshot, name: str, filters: Filters = ALL, bucket: str | None = None) -> Result:
    """Rows of the table `name`; with `bucket` (minute, hour, day) by the start of each bucket, as `at`."""
    table, limit = _checked(name, filters)
    text = _text(snapshot, table, filters, bucket, None if limit is None else limit + 1, pruned=True)
    with snapshot.cursor() as cursor:
        columns, types, values = found(cursor, table, text)
    cut = limit is not None and len(values) > limit
    return Result(columns, types, values[:limit] if cut else values, cut)


def found(
    cursor: duckdb.DuckDBPyConnection, table: Table, text: str
) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns, types and rows of `table`, whose composed statement is `text`; its step, if it has one, is done."""
    cursor.execute(text)
    columns = tuple(column[0] for column in cursor.description)
    types = tuple(str(column[1]) for column in cursor.description)
    values = cursor.fetchall()
    if table.step is None:
        return columns, types, values
    made = table.step.rows([dict(zip(columns, row, strict=True)) for row in values])
    return tuple(table.step.COLUMNS), tuple(table.step.COLUMNS.values()), list(made)


def rows(snapshot: Snapshot, name: str, filters: Filters = ALL) -> list[dict[str, Any]]:
    """Rows of the table `name` as dicts."""
    return fetch(snapshot, name, filters).rows


def series(snapshot: Snapshot, name: str, filters: Filters = ALL, bucket: str = "hour") -> list[dict[str, Any]]:
    """The table by time: its rows with a leading `at`, the UTC start of each minute, hour or day that has any."""
    return fetch(snapshot, name, filters, bucket).rows


def run(snapshot: Snapshot, name: str, filters: Filters = ALL, bucket: str | None = None) -> pyarrow.Table:
    """The table `name` as an Arrow table."""
    table, limit = _checked(name, filters)
    text = _text(snapshot, table, filters, bucket, limit, pruned=True)
    with snapshot.cursor() as cursor:
        return cursor.sql(made(cursor, table, text)).to_arrow_table()


def sql(snapshot: Snapshot, name: str, filters: Filters = ALL, bucket: str | None = None) -> str:
    """The statement behind the table: run in a DuckDB shell that is opened on the snapshot, it gives the same rows.

    Of a table with a step it gives the rows that the step reads.
    """
    table, limit = _checked(name, filters)
    return _text(snapshot, table, filters, bucket, limit, pruned=False)


def save_parquet(snapshot: Snapshot, name: str, filters: Filters, path: Path) -> None:
    """Write the table `name` to a Parquet file."""
    table, limit = _checked(name, filters)
    text = _text(snapshot, table, filters, None, limit, pruned=True)
    with snapshot.cursor() as cursor:
        copy_parquet(cursor, made(cursor, table, text), path)


class Lines:
    """The table as lines of CSV, one after the other; `cut` is known after the last one."""

    cut: int | None = None
    """The number of rows at which the table ended, though more would have matched."""

    def __init__(self, snapshot: Snapshot, name: str, filters: Filters = ALL) -> None:
        self._snapshot, self._filters = snapshot, filters
        self._table, self._limit = _checked(name, filters)

    def __iter__(self) -> Iterator[str]:
        more = None if self._limit is None else self._limit + 1
        text = _text(self._snapshot, self._table, self._filters, None, more, pruned=True)
        with self._snapshot.cursor() as cursor:
            lines = csv_lines(cursor, made(cursor, self._table, text))
            yield from islice(lines, more)
            if self._limit is not None and next(lines, None) is not None:
                self.cut = self._limit


def made(cursor: duckdb.DuckDBPyConnection, table: Table, text: str) -> str:
    """A statement that gives the table's rows: `text`, but for tables with a step one over the rows that it makes."""
    if table.step is None:
        return text
    _, _, values = found(cursor, table, text)
    return stored(cursor, table.step.COLUMNS, values)


def _checked(name: str, filters: Filters) -> tuple[Table, int | None]:
    table = get_table(name)
    table.check(filters)
    return table, filters.limit if filters.limit is not None else table.limit


def _text(
    snapshot: Snapshot, table: Table, filters: Filters, bucket: str | None, limit: int | None, *, pruned: bool
) -> str:
    if bucket is not None and (bucket not in BUCKETS or not table.has_series):
        raise UserError(f"no {bucket} series of the table {table.name}")
    return compose(table, Context(snapshot, filters, None if bucket is None else BUCKETS[bucket], pruned), limit)
