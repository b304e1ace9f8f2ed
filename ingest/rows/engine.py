"""The engine's turn: stages every row that is surely canonical, and names those that the definition must read."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.formats.spec import Format, Relation
from ingest.rows.engine_sql import ENGINE_ERRORS, MAX_LINE, json_texts, macros, of_events, typed_rows
from ingest.rows.lines import Lines, Numbers, group_lines
from ingest.rows.staging import Staging
from ingest.rows.zones import local_time

#: Lines that a thread of the engine takes at a time.
BATCH_LINES = 16_384


class Engine:
    """Loads into `staging`; times without an offset lie in `zone`."""

    def __init__(self, staging: Staging, zone: str | None) -> None:
        self._staging = staging
        self._con = staging.con
        self._zone = zone
        self._guarded = False
        self._ready: tuple[str | None] | None = None

    def prepare(self, zone: str | None) -> None:
        """Creates the macros for times of this zone, where they are not there; a load of few lines does without."""
        if self._ready != (zone,):
            self._con.execute("set timezone = 'UTC'")
            self._con.execute(local_time(self._con, zone))
            if self._ready is None:
                self._con.execute(macros())
            self._ready = (zone,)

    def load_lines(self, fmt: Format, lines: Lines, file_no: int, first_line: int) -> NDArray[np.bool_]:
        """Stages JSON lines; gives which of them are staged."""
        staged = np.zeros(len(lines), np.bool_)
        lenient = lines.lenient()
        exact = lines.exact_times(key for key, kind in fmt.types.items() if kind == "time")
        among = np.flatnonzero(lines.objects(MAX_LINE))
        among = among[lines.unicode(among)]
        for relation, numbers in group_lines(lines, among, fmt.kind, fmt.relations):
            table = pa.table(
                {
                    "line": lines.strings(numbers),
                    "line_no": numbers + first_line,
                    "suspect": lenient[numbers],
                    "exact": exact[numbers],
                }
            )
            self._con.register("json_lines", pa.Table.from_batches(table.to_batches(BATCH_LINES)))
            try:
                odd = self._load_json(fmt, relation, file_no, numbers + first_line)
            finally:
                self._con.unregister("json_lines")
            staged[numbers] = True
            staged[odd - first_line] = False
        return staged

    def _load_json(self, fmt: Format, relation: Relation, file_no: int, line_nos: Numbers) -> Numbers:
        """Stages the lines in `json_lines`, each of one relation; gives the numbers of the odd ones.

        Most logs are sound: whether each line is JSON at all is asked only once one was not.
        """
        odd = line_nos
        if not self._guarded:
            odd = self._load(fmt, relation, json_texts(fmt, relation, "json_lines", guarded=False), file_no, line_nos)
        if len(odd) == len(line_nos):
            self._guarded = True
            odd = self._load(fmt, relation, json_texts(fmt, relation, "json_lines", guarded=True), file_no, line_nos)
        return odd

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
        self.prepare(self._zone)
        try:
            rows = self._staging.derive(relation.name, typed_rows(fmt, relation, source, file_no))
        except ENGINE_ERRORS:
            return line_nos
        first, last = int(line_nos[0]), int(line_nos[-1])
        if rows != len(line_nos):
            self._staging.drop(relation.name, file_no, first, last)
            return line_nos
        return self._staging.take_odd(relation.name, file_no, first, last)
