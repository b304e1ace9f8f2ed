"""Turns segments of raw records into staged rows: every record ends as a fact, a reject or a blank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa

from ingest.formats.spec import AnyFormat, Foreign, Format, State
from ingest.rows.batch import Batch, Counts, line_hash, read_batch
from ingest.rows.cells import read_csv
from ingest.rows.engine import Engine
from ingest.rows.foreign import ForeignLoader
from ingest.rows.helpers import read_beside
from ingest.rows.lines import Lines
from ingest.rows.parquet import ParquetFile
from ingest.rows.raw import Raw, csv_raw, read_documents
from ingest.rows.record import Reader, Reject, read_object
from ingest.rows.staging import Staging

__all__ = ["Counts", "RowLoader"]

JSON = State("json")
#: Records that the definition reads before they are staged together.
BATCH = 20_000
#: Fewer lines than these are read by the definition alone: the engine would plan longer than that takes.
ENGINE_FROM = 500
#: From so many records that the definition must read, other processes help: fewer are done before those have started.
HELPED_FROM = 3 * BATCH


class RowLoader:
    """Loads segments of files into the staging tables of `con`, which it sets to UTC.

    `zone` (Area/City) places times without an offset. With `want_hashes` the lines of facts are hashed into
    `stage_hashes` (blake2b of 16 bytes over the line without its line end). From `engine_from` lines on a segment
    goes through the engine first; from `helped_from` that are left after it, other processes help.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        *,
        zone: str | None = None,
        want_hashes: bool = False,
        engine_from: int = ENGINE_FROM,
        helped_from: int = HELPED_FROM,
    ) -> None:
        self._zone = zone
        self._helped_from = helped_from
        self._want_hashes = want_hashes
        self._engine_from = engine_from
        self._staging = Staging(con, want_hashes=want_hashes)
        self._engine = Engine(self._staging, zone)
        self._readers: dict[str, Reader] = {}
        self._foreign: ForeignLoader | None = None

    def load_lines(
        self, fmt: AnyFormat, data: bytes, *, file_no: int, first_line: int, offset: int, state: State
    ) -> Counts:
        """Stages a segment: complete records of a file (the last may lack its line end), without the CSV header.

        `first_line` is the number of its first line, from 1, `offset` its place in the file. A CSV record is of the
        line where it begins.
        """
        if state.split == "csv":
            records = [csv_raw(record, first_line + record.line, offset, state) for record in read_csv(data)]
            if isinstance(fmt, Foreign):
                return self._load_foreign_records(fmt, records, file_no)
            return self._load_csv(fmt, state, records, file_no)
        if state.split == "document":
            return self._foreign_loader(fmt, state).read(read_documents(data, first_line, offset), file_no)
        lines = Lines(data)
        if isinstance(fmt, Foreign):
            return self._load_foreign(self._foreign_loader(fmt, state), lines, file_no, first_line, offset)
        counts = Counts()
        left: Sequence[int] = range(len(lines))
        if len(lines) >= self._engine_from:
            staged = self._engine.load_lines(fmt, lines, file_no, first_line)
            sure = np.flatnonzero(staged).tolist()
            counts = self._count_sure(file_no, ((first_line + n, lines.line(n)) for n in sure), len(sure))
            left = np.flatnonzero(~staged).tolist()
        raws = (Raw(first_line + n, offset + lines.start(n), lines.line(n)) for n in left)
        return counts + self._read(fmt, file_no, raws, len(left))

    def _foreign_loader(self, fmt: AnyFormat, state: State) -> ForeignLoader:
        """What loads files of this format that are split so, with its macros in place."""
        assert isinstance(fmt, Foreign)
        split = fmt.split_as(state.split)
        if self._foreign is None or self._foreign.format != split:
            self._foreign = ForeignLoader(split, self._staging, self._zone)
            self._foreign.declare()
        return self._foreign

    def _load_foreign(self, loader: ForeignLoader, lines: Lines, file_no: int, first_line: int, offset: int) -> Counts:
        staged = np.zeros(len(lines), np.bool_)
        if len(lines) >= self._engine_from:
            self._engine.prepare(loader.zone)
            staged = loader.load_lines(lines, file_no, first_line)
        sure = np.flatnonzero(staged).tolist()
        counts = self._count_sure(file_no, ((first_line + n, lines.line(n)) for n in sure), len(sure))
        left = np.flatnonzero(~staged).tolist()
        raws = (Raw(first_line + n, offset + lines.start(n), lines.line(n)) for n in left)
        return counts + loader.read(raws, file_no)

    def _load_foreign_records(self, fmt: Foreign, raws: list[Raw], file_no: int) -> Counts:
        loader = self._foreign_loader(fmt, State("csv"))
        plain = [raw for raw in raws if raw.fault is None and not raw.is_blank() and raw.is_unicode()]
        sure: set[int] = set()
        if len(plain) >= self._engine_from:
            self._engine.prepare(loader.zone)
            sure = loader.load_cells(plain, file_no)
        counts = self._count_sure(file_no, ((raw.line, raw.data) for raw in plain if raw.line in sure), len(sure))
        return counts + loader.read((raw for raw in raws if raw.line not in sure), file_no)

    def load_parquet(self, fmt: Format, path: Path, *, file_no: int) -> Counts:
        """Stages a Parquet file; its rows count as lines from 1, without an offset. Raises Refused."""
        file = ParquetFile(self._staging.con, path)
        rows = file.count()
        if rows < self._engine_from:
            return self._read(fmt, file_no, file.raws(fmt))
        staged = self._engine.load_table(fmt, file.table(fmt), file.keys(fmt), file_no, np.arange(1, rows + 1))
        sure = int(np.count_nonzero(staged))
        counts = Counts(lines=sure, facts=sure)
        if self._want_hashes:
            raws = (raw for raw in file.raws(fmt) if staged[raw.line - 1])
            counts = self._count_sure(file_no, ((raw.line, raw.content()) for raw in raws), sure)
        return counts + self._read(fmt, file_no, file.raws(fmt, np.flatnonzero(~staged) + 1))

    def _load_csv(self, fmt: Format, state: State, raws: list[Raw], file_no: int) -> Counts:
        plain = [raw for raw in raws if raw.fault is None and not raw.is_blank() and raw.is_unicode()]
        if len(plain) < self._engine_from:
            return self._read(fmt, file_no, raws)
        keys = [key for key in dict.fromkeys(state.header) if key in fmt.types]
        rows = [raw.values or {} for raw in plain]
        columns = {key: pa.array([row[key] for row in rows], pa.string()) for key in keys}
        line_nos = np.array([raw.line for raw in plain], np.int64)
        flags = {"suspect": np.zeros(len(plain), np.bool_), "exact": np.ones(len(plain), np.bool_)}
        self._staging.con.register("csv_rows", pa.table({**columns, "line_no": line_nos, **flags}))
        try:
            staged = self._engine.load_table(fmt, "csv_rows", keys, file_no, line_nos)
        finally:
            self._staging.con.unregister("csv_rows")
        sure = set(line_nos[staged].tolist())
        counts = self._count_sure(file_no, ((raw.line, raw.data) for raw in plain if raw.line in sure), len(sure))
        return counts + self._read(fmt, file_no, (raw for raw in raws if raw.line not in sure))

    def _count_sure(self, file_no: int, lines: Iterable[tuple[int, bytes]], number: int) -> Counts:
        """Counts `number` facts that the engine staged, and hashes their lines where that is wanted."""
        if self._want_hashes:
            self._staging.add_hashes(file_no, [(line, line_hash(data)) for line, data in lines])
        return Counts(lines=number, facts=number)

    def is_whole(self, tail: bytes, fmt: AnyFormat, state: State = JSON) -> bool:
        """Whether an unfinished last line is a whole record that only lacks its line end.

        Of a text that is neither JSON nor CSV this cannot be told: it may go on.
        """
        if isinstance(fmt, Foreign) and state.split != "csv":
            return self._foreign_loader(fmt, state).is_whole(tail)
        if state.split == "csv":
            records = list(read_csv(tail))
            return len(records) == 1 and records[0].fault is None and len(records[0].cells) == len(state.header)
        try:
            read_object(tail)
        except Reject:
            return False
        return True

    def forget(self, file_no: int) -> None:
        """Drops all that was staged of a refused file."""
        self._staging.forget(file_no)

    def _read(self, fmt: Format, file_no: int, raws: Iterable[Raw], number: int = 0) -> Counts:
        """Reads raw records by the definition and stages what becomes of them; `number` of them, where that is known.

        Where they are many, other processes help.
        """
        batches = _batches(raws)
        read: Iterable[Batch]
        if number >= self._helped_from:
            read = read_beside(fmt, self._zone, file_no, batches, want_hashes=self._want_hashes)
        else:
            reader = self._readers.setdefault(fmt.name, Reader(fmt, ZoneInfo(self._zone) if self._zone else None))
            read = (read_batch(reader, file_no, batch, want_hashes=self._want_hashes) for batch in batches)
        total = Counts()
        for batch in read:
            self._staging.add_records(batch.records)
            self._staging.add_rejects(batch.rejects)
            self._staging.add_hashes(file_no, batch.hashes)
            self._staging.add_mended(file_no, batch.mended)
            total += batch.counts
        return total


def _batches(raws: Iterable[Raw]) -> Iterator[list[Raw]]:
    batch: list[Raw] = []
    for raw in raws:
        batch.append(raw)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
