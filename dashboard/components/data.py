"""Result tables for pages, from the same statements as the command line, remembered per snapshot and filters."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import duckdb
import streamlit as st

from dashboard import exports, languages
from dashboard.components.shapes import Joined, Shape
from dashboard.filters import Filters
from dashboard.languages import ENGLISH
from dashboard.snapshot import Snapshot, current_name, open_snapshot
from dashboard.tables import get_table
from dashboard.tables.compose import compose
from dashboard.tables.context import BUCKETS, Context
from dashboard.tables.read import found, made
from dashboard.tables.spec import Table
from dashboard.texts import no_bid
from dashboard.texts import table as texts_of

KEEP_S = 3_600
MOST_RESULTS = 512
MOST_SNAPSHOTS = 2
FOLDER = Path(__file__).parent / "sql"

Row = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What a page asks of a snapshot: a table or figures of its own, by time or not, whole or in a shape."""

    name: str
    filters: Filters
    bucket: str | None = None
    shape: Shape | None = None

    @property
    def source(self) -> Table:
        """The table, or the pages' own figures."""
        return _source(self.name)

    def text(self, snapshot: Snapshot, limit: int | None, *, pruned: bool) -> str:
        """The statement, with at most so many rows of the table."""
        bucket_us = None if self.bucket is None else BUCKETS[self.bucket]
        inner = compose(self.source, Context(snapshot, self.filters, bucket_us, pruned), limit)
        return inner if self.shape is None else self.shape.over(inner)

    @property
    def file(self) -> "Asked":
        """What a file is to hold: the table that a line `--: file NAME` of the figures names, else these rows, each."""
        words = self.source.words("file")
        named = replace(self, name=words[0]) if words else self
        return replace(named, shape=None) if isinstance(self.shape, Joined) else named

    def whole(self, snapshot: Snapshot, cursor: duckdb.DuckDBPyConnection) -> str:
        """A statement that gives every row, also those beyond what a page shows."""
        every = self if self.shape is None else replace(self, shape=self.shape.whole())
        return made(cursor, self.source, every.text(snapshot, None, pruned=True))


@dataclass(frozen=True)
class Result:
    """Rows, and the statement that gives them as it stands in a DuckDB shell on the snapshot's file.

    `asked` is None where no statement alone gives the rows; `known` may then tell the result from all others. Pages
    share a result: they read it, and change nothing.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    values: list[tuple[Any, ...]]
    sql: str
    asked: Asked | None = None
    known: str = ""

    cells: dict[tuple[str, str], Any] = field(default_factory=dict, compare=False, repr=False)
    """The rows as a table of a page shows them (grid.Cells), by time zone and language."""

    @cached_property
    def rows(self) -> list[Row]:
        """The rows as dicts: counts are int, rates float, times naive UTC datetimes, unknown None."""
        return [dict(zip(self.columns, values, strict=True)) for values in self.values]

    def of(self, **wanted: object) -> list[Row]:
        """The rows whose columns have these values."""
        return [row for row in self.rows if all(row[column] == value for column, value in wanted.items())]

    @property
    def ranged(self) -> bool:
        """Whether the range that was asked for bounds the rows."""
        return self.asked is None or "range" not in (self.asked.source.words("ignores") or ())

    def total(self, column: str) -> int:
        """Sum of a count over all rows; unknown parts are left out."""
        return int(sum(row[column] or 0 for row in self.rows))

    def whole(self, column: str) -> int | None:
        """Sum of a count over all rows; unknown where a part is."""
        values = [row[column] for row in self.rows]
        return None if None in values else int(sum(values))


class Figures(Table):
    """A statement of the pages' own, written like those of the result tables."""

    @cached_property
    def _lines(self) -> list[str]:
        return (FOLDER / f"{self.name}.sql").read_text(encoding="utf-8").splitlines()


@cache
def _source(name: str) -> Table:
    return Figures(name) if (FOLDER / f"{name}.sql").exists() else get_table(name)


def snapshot(warehouse: Path) -> Snapshot:
    """What is published now, opened once for all sessions."""
    return _opened(str(warehouse), current_name(warehouse))


@st.cache_resource(max_entries=MOST_SNAPSHOTS, show_spinner=False)
def _opened(warehouse: str, name: str) -> Snapshot:
    return open_snapshot(Path(warehouse))


_behind: ContextVar[list[Result] | None] = ContextVar("behind", default=None)


@contextmanager
def noting(behind: list[Result]) -> Iterator[None]:
    """Adds to `behind` each result that is asked for meanwhile: what the figures made here come from."""
    outer = _behind.set(behind)
    try:
        yield
    finally:
        _behind.reset(outer)


def table(
    snapshot: Snapshot, name: str, filters: Filters, *, bucket: str | None = None, shape: Shape | None = None
) -> Result:
    """A result table; with `bucket` (minute, hour, day) by time as `at`, with `shape` summed up or thinned out."""
    asked = Asked(name, filters, bucket, shape)
    result = _table(repr((str(snapshot.warehouse), snapshot.id, asked)), snapshot, asked)
    behind = _behind.get()
    if behind is not None and all(result is not other for other in behind):
        behind.append(result)
    return result


@st.cache_resource(ttl=KEEP_S, max_entries=MOST_RESULTS, show_spinner=False)
def _table(asked: str, _snapshot: Snapshot, _asked: Asked) -> Result:
    """Remembered by the text of what was asked: to hash its parts would cost more than all the rest of a look-up.

    All sessions share the rows, as they are: a copy for each run would cost more than its charts.
    """
    source = _asked.source
    source.check(_asked.filters)
    limit = _asked.filters.limit if _asked.filters.limit is not None else source.limit
    with _snapshot.cursor() as cursor:
        columns, types, values = found(cursor, source, _asked.text(_snapshot, limit, pruned=True))
        return Result(_asked.name, columns, types, values, _asked.text(_snapshot, limit, pruned=False), _asked)


def file_address(snapshot: Snapshot, result: Result, ending: str) -> str:
    """Where a browser gets the whole table behind a result, as csv or parquet; it is made when it is asked for."""
    where = (snapshot.warehouse, snapshot.id)
    if result.asked is None:
        given = exports.Given(result.columns, result.types, result.values)
        return exports.offer(result.name, (where, result.sql, result.values), given, ending)
    asked = result.asked.file
    return exports.offer(asked.name, (where, asked), exports.Queried(*where, asked.whole), ending)


def partner_names(snapshot: Snapshot) -> list[str]:
    """Every partner and key of the warehouse, the same whatever is filtered."""
    every = Filters()
    names = {row["partner"] for name in ("calls", "rate_limits") for row in table(snapshot, name, every).rows}
    return sorted(name for name in names if name is not None)


def reject_count(snapshot: Snapshot) -> int:
    """Lines that were refused, over all loads."""
    return table(snapshot, "loads", Filters()).total("rejects")


def metric_texts(snapshot: Snapshot) -> Mapping[str, Row]:
    """The metric dictionary by name."""
    return {row["name"]: row for row in table(snapshot, "metrics", Filters()).rows}


def outcome_texts(snapshot: Snapshot) -> Mapping[str, Row]:
    """Title, group, owner and remedy of each outcome."""
    rows = _codes(snapshot, str(snapshot.warehouse), snapshot.id, "outcomes")
    titles = {} if languages.current() is ENGLISH else texts_of("outcome")
    return {row["outcome"]: row | {"title": titles.get(row["outcome"], row["title"])} for row in rows}


def nbr_texts(snapshot: Snapshot) -> Sequence[Row]:
    """Name, class, owner and remedy of each no-bid code and range."""
    rows = _codes(snapshot, str(snapshot.warehouse), snapshot.id, "nbr_codes")
    return [no_bid(row, row["code"]) for row in rows]


@st.cache_resource(ttl=KEEP_S, max_entries=8, show_spinner=False)
def _codes(_snapshot: Snapshot, warehouse: str, id: str, relation: str) -> list[Row]:
    with _snapshot.cursor() as cursor:
        found = cursor.execute(f"select * from {relation}")
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def reason_titles(snapshot: Snapshot) -> dict[str, str]:
    """Titles of the reasons for which calls and postbacks get no further: outcomes, and no-bid codes with numbers."""
    titles = {name: row["title"] for name, row in outcome_texts(snapshot).items() if row["title"]}
    codes = {
        str(row["code"]): f"{row['code']} · {row['name']}" for row in nbr_texts(snapshot) if row["code"] is not None
    }
    return titles | texts_of("reason") | codes


def loss_titles(snapshot: Snapshot, funnel: str, stage: str) -> dict[str, str]:
    """Titles of the reasons for which a stage was not reached: numbers of calls that did not win are loss reasons."""
    titles = reason_titles(snapshot)
    if (funnel, stage) != ("call", "won"):
        return titles
    words = texts_of("loss_reason")
    return titles | {code: f"{code} · {text}" for code, text in words.items() if code.isdigit()}


def has_stream(snapshot: Snapshot, stream: str) -> bool:
    """Whether the warehouse has any event of the stream."""
    span = snapshot.streams.get(stream)
    return span is not None and span.newest_us is not None
