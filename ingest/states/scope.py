"""What the passes over the states share: the load's connection and parts, and how rows of given hours are read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.models.parts import Part, Parts, scan
from ingest.models.relations import HOUR_US
from ingest.settings import Settings
from ingest.states.columns import columns_sql

#: Rows that are worked on at once, but for an hour that has more: bounds the memory of a large first load.
CHUNK_ROWS = 500_000

#: Rows of an hour that has more are worked on group by group, in slices of about as many.
SLICE_ROWS = 2_000_000

#: Time of a row of the relations that the states are made from.
TIMES = {"attempts": "epoch_us(ts)", "postbacks": "epoch_us(ts)", "auction_stages": "us"}


@dataclass
class Scope:
    """One load's view on the warehouse. Tables of the passes live in the schema `states`."""

    con: duckdb.DuckDBPyConnection
    parts: Parts
    settings: Settings
    first: bool
    chunk_rows: int = CHUNK_ROWS

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.con.execute(sql).fetchall()

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """The columns of a query that gives no NULL."""
        return {name: np.asarray(values) for name, values in self.con.execute(sql).fetchnumpy().items()}

    def any(self, rows: str) -> bool:
        """Whether a table or bracketed select has a row."""
        return bool(self.rows(f"select 1 from {rows} limit 1"))

    def scan(self, relation: str, lo_us: int, hi_us: int) -> str:
        """Parts of `relation` that may hold rows in [lo_us, hi_us)."""
        return self._scan(relation, [p for p in self.parts.of(relation) if p.hi_us >= lo_us and p.lo_us < hi_us])

    def read(self, relation: str, hours: Sequence[int]) -> str:
        """A select of the rows of `relation` (one of TIMES) in `hours`, which are sorted."""
        lo, hi = hours[0], hours[-1] + HOUR_US
        sql = f"select * from {self._scan(relation, self._of_hours(relation, hours))} where {between(relation, lo, hi)}"
        if (hi - lo) // HOUR_US > len(hours):
            sql += f" and {hour_of(TIMES[relation])} in {listed(hours)}"
        return f"({sql})"

    def of_hours(self, relation: str, hours: Iterable[int]) -> str:
        """Parts of `relation` that may hold rows of `hours`."""
        return self._scan(relation, self._of_hours(relation, sorted(hours)))

    def sizes(self, relation: str, hours: Iterable[int]) -> dict[int, int]:
        """Rows of `relation` in each of `hours` that has any."""
        wanted = sorted(hours)
        if not wanted:
            return {}
        return dict(
            self.rows(f"select {hour_of(TIMES[relation])}, count(*) from {self.read(relation, wanted)} group by 1")
        )

    def chunks(self, relation: str, hours: Iterable[int]) -> list[tuple[list[int], int]]:
        """`hours` in order, cut where the rows of `relation` would be more than `chunk_rows`; with their rows."""
        sizes = self.sizes(relation, hours)
        chunks: list[tuple[list[int], int]] = []
        for hour, size in sorted(sizes.items()):
            if chunks and chunks[-1][1] + size <= self.chunk_rows:
                before, rows = chunks.pop()
                chunks.append(([*before, hour], rows + size))
            else:
                chunks.append(([hour], size))
        return chunks

    def old(self, relation: str) -> str:
        """A select of the rows of a state relation as the load found them."""
        if old := self.parts.of(relation):
            return f"select * from {scan(self.parts.root, old)}"
        return f"select * from states.none_{relation}"

    def rewrite(self, relation: str, hours: set[int], fresh: str, keep: str) -> None:
        """Write the rows of `hours` anew, unless there are none, neither old nor new."""
        if self.parts.covering(relation, hours) or self.any(f"({fresh})"):
            self.parts.rewrite(relation, hours, fresh, keep, by_day=True)

    def create(self, name: str, relation: str) -> None:
        """An empty table in `states` with the columns of `relation`."""
        self.con.execute(f"create or replace table states.{name} ({columns_sql(relation)})")

    def _of_hours(self, relation: str, hours: Sequence[int]) -> list[Part]:
        def holds(part: Part) -> bool:
            place = bisect_left(hours, part.lo_us // HOUR_US * HOUR_US)
            return place < len(hours) and hours[place] <= part.hi_us

        return [part for part in self.parts.of(relation) if holds(part)]

    def _scan(self, relation: str, parts: list[Part]) -> str:
        return scan(self.parts.root, parts or self.parts.empty(relation) or self.parts.of(relation)[:1])


def in_order(group: NDArray[np.int64], value: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows (`group`, `value`) sorted; both are 0 or more, and a value, be it twice a time, is below 2**53.

    Where there are few groups both fit one number, and sorting numbers is much faster than sorting places.
    """
    if len(group) and group.max() < 1 << 10:
        packed = np.sort(group << 53 | value)
        return packed >> 53, packed & ((1 << 53) - 1)
    order = np.lexsort((value, group))
    return group[order], value[order]


def integers(**columns: NDArray[np.int64]) -> pa.Table:
    """A table of whole numbers; to make it of arrays that pyarrow has to look at, it would import pandas."""
    arrays = [
        pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values, np.int64))])
        for values in columns.values()
    ]
    return pa.Table.from_arrays(arrays, names=list(columns))


def between(relation: str, lo_us: int, hi_us: int) -> str:
    """The condition that a row of `relation` lies in [lo_us, hi_us)."""
    if relation == "auction_stages":
        return f"us >= {lo_us} and us < {hi_us}"
    return f"ts >= make_timestamp({lo_us}) and ts < make_timestamp({hi_us})"


def hour_of(us: str) -> str:
    """SQL of the hour in which `us` lies."""
    return f"{us} // {HOUR_US} * {HOUR_US}"


def listed(hours: Iterable[int]) -> str:
    """`hours` as the right side of an SQL `in`."""
    return "(" + ", ".join(str(hour) for hour in sorted(hours)) + ")"
