"""Loads the records of a foreign format: split, mapped to native events, then cast as those are.

Every record first goes through the engine; what is odd for it, or gives no row, is split again by the definition
(`Splitter`), mapped by the same expressions, and cast by the definition of the native events.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.formats.spec import Foreign, Relation, Rows
from ingest.rows.arrays import array, table
from ingest.rows.batch import Counts, line_hash
from ingest.rows.engine_sql import ENGINE_ERRORS, MAX_LINE, typed_rows
from ingest.rows.jsontext import parse
from ingest.rows.lines import Lines, Numbers
from ingest.rows.mapping import declare_macros, mapped_rows, records_of
from ingest.rows.masking import mask_record
from ingest.rows.raw import Raw
from ingest.rows.record import Reader, Record, Reject
from ingest.rows.split import Splitter
from ingest.rows.staging import Rejected, Staging, record_tables, rejects_table

#: Records that the definition maps together.
BATCH = 5_000
#: What stands behind the keys of a mapped row.
MARKS = ("item_no", "line_no", "suspect", "exact")
LINES, RECORDS = "foreign_lines", "foreign_records"


class ForeignLoader:
    """Stages the records of one foreign format; times without an offset lie in `zone`, else in the format's own."""

    def __init__(self, fmt: Foreign, staging: Staging, zone: str | None) -> None:
        self.format = fmt
        self._staging, self._con = staging, staging.con
        self.zone = zone = zone or fmt.zone
        self._reader = Reader(fmt.canonical, ZoneInfo(zone) if zone else None)
        self._splitter = Splitter(fmt)
        self._parts = [(part, _mapped_relation(fmt, part)) for part in fmt.rows]
        self._time_keys = _time_keys(fmt)
        self._ids = {
            relation.name: [item.key for item in relation.fields if item.required and item.type == "text"]
            for relation in fmt.canonical.relations
        }

    def declare(self) -> None:
        """Creates the macros that the format's expressions use."""
        self._con.execute("set timezone = 'UTC'")
        for statement in declare_macros(self.format.macros).values():
            self._con.execute(statement)

    def load_lines(self, lines: Lines, file_no: int, first_line: int) -> NDArray[np.bool_]:
        """Stages what is surely canonical among `lines`; gives which of them are staged."""
        splitting = self.format.splitting
        is_json = splitting.kind == "json"
        among = _loadable(lines, objects=is_json and not splitting.prefix)
        staged = np.zeros(len(lines), np.bool_)
        if not len(among):
            return staged
        if is_json:
            suspect = lines.lenient()[among]
            exact = lines.exact_times(self._time_keys)[among]
        else:
            suspect, exact = np.zeros(len(among), np.bool_), np.ones(len(among), np.bool_)
        columns = {"line": lines.strings(among), "line_no": among + first_line, "suspect": suspect, "exact": exact}
        return self._load(table(columns), LINES, file_no, first_line, staged)

    def load_cells(self, raws: Sequence[Raw], file_no: int) -> set[int]:
        """As `load_lines`, of CSV records without a fault, in order; gives the lines that are staged."""
        cells = {
            name: array([(raw.values or {}).get(path[0]) for raw in raws], pa.string())
            for name, path in self.format.splitting.columns.items()
        }
        line_nos = np.array([raw.line for raw in raws], np.int64)
        flags = {"suspect": np.zeros(len(raws), np.bool_), "exact": np.ones(len(raws), np.bool_)}
        first = int(line_nos[0])
        staged = np.zeros(int(line_nos[-1]) - first + 1, np.bool_)
        self._load(table({**cells, "line_no": line_nos, **flags}), LINES, file_no, first, staged)
        return set((np.flatnonzero(staged) + first).tolist())

    def is_whole(self, tail: bytes) -> bool:
        """Whether an unfinished last line is a whole record: a JSON object that closes."""
        if self.format.splitting.kind != "json":
            return False
        try:
            self._splitter.split(Raw(1, 0, tail))
        except Reject:
            return False
        return True

    def _load(
        self, rows: pa.Table, name: str, file_no: int, first_line: int, staged: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        last_line = first_line + len(staged) - 1
        self._con.register(name, rows)
        try:
            for guarded in (False, True):
                try:
                    self._stage(records_of(self.format, name, guarded=guarded), file_no)
                    break
                except ENGINE_ERRORS:
                    self._drop(file_no, first_line, last_line)
        finally:
            self._con.unregister(name)
        odd = self._take_odd(file_no, first_line, last_line)
        for relation in self._relations():
            sql = f"select distinct line_no from stage_{relation} where line_no between ? and ? and file_no = ?"
            found = self._con.execute(sql, [first_line, last_line, file_no]).fetchnumpy()["line_no"]
            staged[np.asarray(found, np.int64) - first_line] = True
        staged[odd - first_line] = False
        return staged

    def _stage(self, records: str, file_no: int) -> None:
        """Stages the rows of `records`, the odd ones under negative line numbers.

        They are a table first: the engine would split a line anew for each of the expressions that use it.
        """
        self._con.execute(f"create or replace temp table {RECORDS} as {records}")
        try:
            for part, relation in self._parts:
                mapped = f"({mapped_rows(part, RECORDS)})"
                self._staging.derive(relation.name, typed_rows(self.format.canonical, relation, mapped, file_no))
        finally:
            self._con.execute(f"drop table if exists {RECORDS}")

    def _relations(self) -> list[str]:
        return list(dict.fromkeys(relation.name for _, relation in self._parts))

    def _take_odd(self, file_no: int, first: int, last: int) -> Numbers:
        """Removes all rows of the lines that have an odd one; gives these lines."""
        found: set[int] = set()
        for relation in self._relations():
            found.update(self._staging.take_odd(relation, file_no, first, last).tolist())
        odd = np.array(sorted(found), np.int64)
        if len(odd):
            self._con.register("odd_lines", table({"line_no": odd}))
            try:
                for relation in self._relations():
                    self._con.execute(
                        f"delete from stage_{relation} where file_no = {file_no}"
                        " and line_no in (select line_no from odd_lines)"
                    )
            finally:
                self._con.unregister("odd_lines")
        return odd

    def _drop(self, file_no: int, first: int, last: int) -> None:
        for relation in self._relations():
            self._staging.drop(relation, file_no, first, last)

    def read(self, raws: Iterable[Raw], file_no: int) -> Counts:
        """Reads records by the definition, and stages what becomes of them."""
        total = Counts()
        batch: list[Raw] = []
        for raw in raws:
            batch.append(raw)
            if len(batch) == BATCH:
                total += self._read(batch, file_no)
                batch = []
        return total + self._read(batch, file_no) if batch else total

    def _read(self, raws: Sequence[Raw], file_no: int) -> Counts:
        counts = Counts(lines=len(raws))
        split: dict[int, dict[str, str | None]] = {}
        rejects: list[Rejected] = []
        for raw in raws:
            if raw.is_blank():
                counts.blank += 1
                continue
            try:
                split[raw.line] = self._splitter.split(raw)
            except Reject as reject:
                rejects.append(_rejected(raw, str(reject)))
        mapped, failed = self._map(split)
        records: list[tuple[int, Record]] = []
        mended: list[tuple[int, str]] = []
        hashes: list[tuple[int, bytes]] = []
        for raw in raws:
            if raw.line not in split:
                continue
            good, bad = self._cast(mapped.get(raw.line, ()))
            if not good:
                reason = failed.get(raw.line) or (bad[0][0] if bad else self._nothing())
                rejects.append(_rejected(raw, reason, mask_record(self.format.canonical, bad[0][1]) if bad else ""))
                continue
            records += [(raw.line, record) for record in good]
            mended += [(raw.line, key) for key in dict.fromkeys(key for record in good for key in record.mended)]
            mended += [(raw.line, event) for event in dict.fromkeys(str(row["event"]) for _, row in bad)]
            hashes.append((raw.line, line_hash(raw.content())))
        self._staging.add_records(record_tables(file_no, records))
        self._staging.add_rejects(rejects_table(file_no, rejects))
        self._staging.add_mended(file_no, mended)
        if self._staging.want_hashes:
            self._staging.add_hashes(file_no, hashes)
        counts.mended.update(key for _, key in mended)
        counts.facts, counts.rejects = len(hashes), len(rejects)
        return counts

    def _cast(
        self, rows: Iterable[Mapping[str, str | None]]
    ) -> tuple[list[Record], list[tuple[str, Mapping[str, str | None]]]]:
        """The rows that could be read, and the others with the reason."""
        good: list[Record] = []
        bad: list[tuple[str, Mapping[str, str | None]]] = []
        for row in rows:
            try:
                good.append(self._read_row(row))
            except Reject as reject:
                bad.append((f"{row['event']}: {reject}", row))
        return good, bad

    def _read_row(self, row: Mapping[str, str | None]) -> Record:
        """One mapped row by the definition of native events; what is nested JSON is no id."""
        record = self._reader.read(row)
        if self.format.splitting.kind == "json":
            for key in self._ids[record.relation.name]:
                if _is_nested(row[key] or ""):
                    raise Reject(f"{key} is no text")
        return record

    def _nothing(self) -> str:
        events = dict.fromkeys(part.event for part in self.format.rows)
        return f"nothing in it that gives a row: {', '.join(events)}"

    def _map(
        self, split: Mapping[int, Mapping[str, str | None]]
    ) -> tuple[Mapping[int, list[Mapping[str, str | None]]], Mapping[int, str]]:
        """The mapped rows by line, in the order of the format's blocks; and why expressions failed, by line."""
        found: dict[int, list[Mapping[str, str | None]]] = defaultdict(list)
        failed: dict[int, str] = {}
        try:
            for part, _ in self._parts:
                for line_no, row in self._rows_of(part, split):
                    found[line_no].append(row)
        except ENGINE_ERRORS:
            if len(split) == 1:
                (line_no,) = split
                return {}, {line_no: self._failing(split)}
            found.clear()
            listed = list(split.items())
            for half in (listed[: len(listed) // 2], listed[len(listed) // 2 :]):
                rows, why = self._map(dict(half))
                found.update(rows)
                failed.update(why)
        return found, failed

    def _rows_of(
        self, part: Rows, split: Mapping[int, Mapping[str, str | None]]
    ) -> list[tuple[int, Mapping[str, str | None]]]:
        columns = {
            name: array([record[name] for record in split.values()], pa.string())
            for name in self.format.splitting.columns
        }
        place = {"line_no": np.array(list(split), np.int64)}
        flags = {"suspect": np.zeros(len(split), np.bool_), "exact": np.ones(len(split), np.bool_)}
        self._con.register(RECORDS, table({**columns, **place, **flags}))
        try:
            ordered = f"select * from ({mapped_rows(part, RECORDS)}) order by line_no, item_no"
            cursor = self._con.execute(ordered)
            names = [column[0] for column in cursor.description or ()][: -len(MARKS)]
            return [(values[-len(MARKS) + 1], dict(zip(names, values, strict=False))) for values in cursor.fetchall()]
        finally:
            self._con.unregister(RECORDS)

    def _failing(self, split: Mapping[int, Mapping[str, str | None]]) -> str:
        """Which expression of the format fails for a record."""
        for part, _ in self._parts:
            bare = replace(part, columns={})
            keys = [(key, replace(part, columns={key: text})) for key, text in part.columns.items()]
            for name, one in [("each", replace(bare, when="")), ("when", bare), *keys]:
                try:
                    self._rows_of(one, split)
                except ENGINE_ERRORS as error:
                    return f"{part.event}: the format's expression for {name} fails ({type(error).__name__})"
        return "an expression of the format fails"


def _mapped_relation(fmt: Foreign, part: Rows) -> Relation:
    """The relation of a block's event with only the keys that the block fills."""
    relation = fmt.canonical.by_event[part.event]
    return replace(relation, fields=tuple(field for field in relation.fields if field.key in part.columns))


def _is_nested(text: str) -> bool:
    """Whether a text is a JSON object or array; one that only begins so, as `[2001:db8::1]` does, is a text."""
    if text[:1] not in ("{", "["):
        return False
    try:
        return isinstance(parse(text), (dict, list))
    except ValueError:
        return False


def _time_keys(fmt: Foreign) -> list[str]:
    """The keys of a JSON format's records that its expressions for times may read."""
    times = {key for key, kind in fmt.canonical.types.items() if kind == "time"}
    texts = [text for part in fmt.rows for key, text in part.columns.items() if key in times]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return [path[-1] for name, path in fmt.splitting.columns.items() if name in words]


def _loadable(lines: Lines, *, objects: bool) -> Numbers:
    """The lines that the engine may read: neither too long nor blank, UTF-8 (and beginning as objects do)."""
    if objects:
        among = np.flatnonzero(lines.objects(MAX_LINE))
    else:
        lengths = lines.ends - lines.starts
        among = np.flatnonzero((lengths > 0) & (lengths < MAX_LINE))
    return among[lines.unicode(among)]


def _rejected(raw: Raw, reason: str, masked: str = "") -> Rejected:
    return Rejected(raw.line, raw.offset, reason, masked or f"({len(raw.data)} bytes)")
