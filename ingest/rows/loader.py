"""Turns segments of raw records into staged rows: every record ends as a fact, a reject or a blank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa

from ingest.formats.spec import Format, State
from ingest.rows.cells import read_csv
from ingest.rows.engine import Engine
from ingest.rows.lines import Lines
from ingest.rows.masking import mask_line, mask_record
from ingest.rows.parquet import ParquetFile
from ingest.rows.raw import Raw, csv_raw
from ingest.rows.record import Reader, Record, Reject, read_object
from ingest.rows.staging import Rejected, Staging

HASH_BYTES = 16
#: Records that the definition reads before they are staged together.
BATCH = 20_000
#: Fewer lines than these are read by the definition alone: the engine would plan longer than that takes.
ENGINE_FROM = 500


@dataclass
class Counts:
    """What became of a number of lines; `mended` counts values by input key."""

    lines: int = 0
    facts: int = 0
    rejects: int = 0
    blank: int = 0
    mended: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.lines + other.lines,
            self.facts + other.facts,
            self.rejects + other.rejects,
            self.blank + other.blank,
            self.mended + other.mended,
        )


class RowLoader:
    """Loads segments of files into the staging tables of `con`, which it sets to UTC.

    `zone` (Area/City) places times without an offset. With `want_hashes` the lines of facts are hashed into
    `stage_hashes` (blake2b of 16 bytes over the line without its line end). From `engine_from` lines on a segment
    goes through the engine first.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        tmp: Path,
        *,
        zone: str | None = None,
        want_hashes: bool = False,
        engine_from: int = ENGINE_FROM,
    ) -> None:
        self._zone = ZoneInfo(zone) if zone else None
        self._want_hashes = want_hashes
        self._engine_from = engine_from
        self._staging = Staging(con, want_hashes=want_hashes)
        self._engine = Engine(self._staging, tmp)
        self._readers: dict[str, Reader] = {}

    def load_lines(
        self, fmt: Format, data: bytes, *, file_no: int, first_line: int, offset: int, state: State
    ) -> Counts:
        """Stages a segment: complete records of a file (the last may lack its line end), without the CSV header.

        `first_line` is the number of its first line, from 1, `offset` its place in the file. A CSV record is of the
        line where it begins.
        """
        if state.split == "csv":
            records = [csv_raw(record, first_line + record.line, offset, state) for record in read_csv(data)]
            return self._load_csv(fmt, state, records, file_no)
        lines = Lines(data)
        counts = Counts()
        left: Sequence[int] = range(len(lines))
        if len(lines) >= self._engine_from:
            staged = self._engine.load_lines(fmt, lines, file_no, first_line)
            sure = np.flatnonzero(staged).tolist()
            counts = self._count_sure(file_no, ((first_line + n, lines.line(n)) for n in sure), len(sure))
            left = np.flatnonzero(~staged).tolist()
        raws = (Raw(first_line + n, offset + lines.start(n), lines.line(n)) for n in left)
        return counts + self._read(fmt, file_no, raws)

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

    def is_whole(self, tail: bytes, fmt: Format, state: State | None = None) -> bool:
        """Whether an unfinished last line is a whole record that only lacks its line end."""
        if state is not None and state.split == "csv":
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

    def _read(self, fmt: Format, file_no: int, raws: Iterable[Raw]) -> Counts:
        """Reads raw records by the definition and stages what becomes of them."""
        total = Counts()
        for batch in _batches(raws):
            total += self._read_batch(fmt, file_no, batch)
        return total

    def _read_batch(self, fmt: Format, file_no: int, raws: list[Raw]) -> Counts:
        reader = self._readers.setdefault(fmt.name, Reader(fmt, self._zone))
        records: list[tuple[int, Record]] = []
        rejects: list[Rejected] = []
        hashes: list[tuple[int, bytes]] = []
        mended: list[tuple[int, str]] = []
        counts = Counts(lines=len(raws))
        for raw in raws:
            if raw.is_blank():
                counts.blank += 1
                continue
            values = raw.values
            try:
                if raw.fault is not None:
                    raise Reject(raw.fault)
                if values is None:
                    values = read_object(raw.data)
                record = reader.read(values)
            except Reject as reject:
                masked = mask_line(fmt, raw.data) if values is None else mask_record(fmt, values)
                rejects.append(Rejected(raw.line, raw.offset, str(reject), masked))
                continue
            records.append((raw.line, record))
            mended += [(raw.line, key) for key in record.mended]
            if self._want_hashes:
                hashes.append((raw.line, line_hash(raw.content())))
        self._staging.add_records(file_no, records)
        self._staging.add_rejects(file_no, rejects)
        self._staging.add_hashes(file_no, hashes)
        self._staging.add_mended(file_no, mended)
        counts.mended.update(key for _, key in mended)
        counts.facts, counts.rejects = len(records), len(rejects)
        return counts


def line_hash(line: bytes) -> bytes:
    """What two lines of equal bytes share."""
    return blake2b(line, digest_size=HASH_BYTES).digest()


def _batches(raws: Iterable[Raw]) -> Iterator[list[Raw]]:
    batch: list[Raw] = []
    for raw in raws:
        batch.append(raw)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
