"""The engine's turn: stages every row that is surely canonical, and names those that the definition must read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.formats.spec import Format, Relation
from ingest.rows.engine_sql import MAX_LINE, macros, ndjson, of_events, typed_rows
from ingest.rows.lines import Lines, Numbers, group_lines
from ingest.rows.staging import Staging


class Engine:
    """Loads into `staging`; segments are read through a file in `tmp`."""

    def __init__(self, staging: Staging, tmp: Path) -> None:
        self._staging = staging
        self._con = staging.con
        self._segment = tmp / "segment.ndjson"
        self._ready = False

    def _prepare(self) -> None:
        """Creates the macros, once; a load of few lines does without."""
        if not self._ready:
            self._con.execute("set timezone = 'UTC'")
            self._con.execute(macros())
            self._ready = True

    def load_lines(self, fmt: Format, lines: Lines, file_no: int, first_line: int) -> NDArray[np.bool_]:
        """Stages JSON lines; gives which of them are staged."""
        staged = np.zeros(len(lines), np.bool_)
        lenient = lines.lenient()
        exact = lines.exact_times(key for key, kind in fmt.types.items() if kind == "time")
        among = np.flatnonzero(lines.objects(MAX_LINE))
        for relation, numbers in group_lines(lines, among, fmt.kind, fmt.relations):
            places = pa.table({"line_no": numbers + first_line, "suspect": lenient[numbers], "exact": exact[numbers]})
            self._segment.write_bytes(lines.join(numbers))
            self._con.register("line_places", places)
            try:
                source = f"({ndjson(self._segment, fmt, relation)} positional join line_places)"
                odd = self._load(fmt, relation, source, file_no, numbers + first_line)
            finally:
                self._con.unregister("line_places")
                self._segment.unlink()
            staged[numbers] = True
            staged[odd - first_line] = False
        return staged

    def load_table(
        self, fmt: Format, table: str, keys: Collection[str], file_no: int, line_nos: Numbers
    ) -> NDArray[np.bool_]:
        """Stages the rows of a relation: text columns `keys`, `line_no`, `suspect`, `exact`; gives which are staged.

        `line_nos` are the line numbers of all of its rows, ascending.
        """
        staged = np.zeros(len(line_nos), np.bool_)
        if fmt.kind not in keys:
            return staged
        for relation in fmt.relations:
            source = of_events(fmt, relation, table, keys)
            listed = self._con.execute(f"select line_no from {source} order by line_no").fetchnumpy()["line_no"]
            if len(listed):
                odd = self._load(fmt, relation, source, file_no, np.asarray(listed, np.int64))
                staged[np.searchsorted(line_nos, listed)] = True
                staged[np.searchsorted(line_nos, odd)] = False
        return staged

    def _load(self, fmt: Format, relation: Relation, source: str, file_no: int, line_nos: Numbers) -> Numbers:
        """Stages rows that should be of one relation and have these line numbers; gives those of the odd ones.

        Where the engine fails, or sees other rows than there are, all are odd.
        """
        self._prepare()
        try:
            rows = self._staging.derive(relation.name, typed_rows(fmt, relation, source, file_no))
        except duckdb.Error:
            return line_nos
        first, last = int(line_nos[0]), int(line_nos[-1])
        if rows != len(line_nos):
            self._staging.drop(relation.name, file_no, first, last)
            return line_nos
        return self._staging.take_odd(relation.name, file_no, first, last)
