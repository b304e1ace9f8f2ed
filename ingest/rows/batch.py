"""Reads raw records by the definition, many at a time, into tables that are ready to be staged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import pyarrow as pa

from ingest.rows.masking import mask_line, mask_record
from ingest.rows.raw import Raw
from ingest.rows.record import Reader, Record, Reject, read_object
from ingest.rows.staging import Rejected, record_tables, rejects_table

HASH_BYTES = 16


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


@dataclass(frozen=True)
class Batch:
    """Records that were read: typed rows by relation, rejects, (line, key) of the mended, (line, hash) of the facts."""

    counts: Counts
    records: dict[str, pa.Table]
    rejects: pa.Table
    mended: list[tuple[int, str]]
    hashes: list[tuple[int, bytes]]


def read_batch(reader: Reader, file_no: int, raws: Sequence[Raw], *, want_hashes: bool) -> Batch:
    """What `raws` of one file are; hashes only where they are wanted."""
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
            fmt = reader.format
            masked = mask_record(fmt, values) if values is not None else mask_line(fmt, raw.data, reject.sound)
            rejects.append(Rejected(raw.line, raw.offset, str(reject), masked))
            continue
        records.append((raw.line, record))
        mended += [(raw.line, key) for key in record.mended]
        if want_hashes:
            hashes.append((raw.line, line_hash(raw.content())))
    counts.mended.update(key for _, key in mended)
    counts.facts, counts.rejects = len(records), len(rejects)
    return Batch(counts, record_tables(file_no, records), rejects_table(file_no, rejects), mended, hashes)


def line_hash(line: bytes) -> bytes:
    """What two lines of equal bytes share."""
    return blake2b(line, digest_size=HASH_BYTES).digest()
