"""Files that pages offer: made when they are asked for, whole, on disk, and sent from there.

What a page offers is known by a token: a digest of the snapshot and the statement (or the values) behind it. Whoever
asks for the same token gets the same bytes, and nothing that was made for one is kept for another.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import duckdb

from dashboard.errors import UserError
from dashboard.report import bundle, report_files
from dashboard.snapshot import Snapshot, open_older
from dashboard.tables.write import copy_parquet, csv_chunks, csv_lines, stored

MEDIA = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet", "zip": "application/zip"}
"""Endings of the files and what they are to a browser."""

ROUTE = "export"
MOST_OFFERED = 20_000
AT_ONCE = 4
"""Files made at the same time; those who ask for more wait."""

MEMORY = "256MB"
"""What the engine may take for all the files being made; it sorts on disk beyond that."""

PIECE = 1 << 18
QUOTE = "'"

Statement = Callable[[Snapshot, duckdb.DuckDBPyConnection], str]


class Source(Protocol):
    """Where a file's content comes from."""

    def write(self, ending: str, path: Path) -> None:
        """Make the file. Raises UserError where its data are gone."""


@dataclass(frozen=True)
class Queried:
    """Rows of a statement on a snapshot."""

    warehouse: Path
    snapshot: str
    statement: Statement

    def write(self, ending: str, path: Path) -> None:
        """Make the file."""
        snapshot = _reader(self.warehouse, self.snapshot)
        with snapshot.cursor() as cursor:
            _save(cursor, self.statement(snapshot, cursor), ending, path)


@dataclass(frozen=True)
class Given:
    """Rows that a page has already."""

    columns: Sequence[str]
    types: Sequence[str]
    values: Sequence[tuple[Any, ...]]

    def write(self, ending: str, path: Path) -> None:
        """Make the file."""
        with duckdb.connect() as cursor:
            columns = dict(zip(self.columns, self.types, strict=True))
            _save(cursor, stored(cursor, columns, self.values), ending, path)


@dataclass(frozen=True)
class Week:
    """The weekly report: one topic's CSV, or all of them in a zip."""

    warehouse: Path
    snapshot: str
    week: str
    zone: str
    topic: str | None = None

    def write(self, ending: str, path: Path) -> None:
        """Make the file."""
        files = report_files(_reader(self.warehouse, self.snapshot), self.week, self.zone)
        path.write_bytes(bundle(files) if self.topic is None else files[self.topic])


_offered: OrderedDict[str, tuple[str, Source]] = OrderedDict()
_lock = threading.Lock()
_making = threading.BoundedSemaphore(AT_ONCE)


def offer(stem: str, told: Sequence[object], source: Source, ending: str) -> str:
    """The address, below any page's, of a file called `stem`; `told` is all that its content depends on."""
    token = hashlib.sha256(repr((stem, *told)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with _lock:
        _offered[token] = stem, source
        _offered.move_to_end(token)
        while len(_offered) > MOST_OFFERED:
            _offered.popitem(last=False)
    return f"{ROUTE}/{token}/{_name(stem, token, ending)}"


def make(token: str, name: str) -> BinaryIO:
    """The file of that name behind a token, open and with no place on the disk any more.

    Raises UserError where it is not on offer, or its data are gone.
    """
    ending = name.rpartition(".")[2]
    with _lock:
        stem, source = _offered.get(token, ("", None))
    if source is None or ending not in MEDIA or name != _name(stem, token, ending):
        raise UserError("this file is not on offer any more; load the page again and ask there")
    with _making, tempfile.TemporaryDirectory(prefix="retrylens-") as folder:
        path = Path(folder) / f"file.{ending}"
        source.write(ending, path)
        return path.open("rb")


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """The content of a file, a piece at a time; it is closed at the end."""
    with file:
        while piece := file.read(PIECE):
            yield piece


def _name(stem: str, token: str, ending: str) -> str:
    return f"{stem}-{token[:10]}.{ending}"


def _save(cursor: duckdb.DuckDBPyConnection, statement: str, ending: str, path: Path) -> None:
    if ending == "parquet":
        copy_parquet(cursor, statement, path)
        return
    with path.open("wb") as file:
        for data in csv_chunks(csv_lines(cursor, statement)):
            file.write(data)


@lru_cache(maxsize=2)
def _reader(warehouse: Path, name: str) -> Snapshot:
    """A snapshot opened for files alone, so that they cannot take the memory of the pages."""
    snapshot = open_older(warehouse, name)
    with snapshot.cursor() as cursor:
        cursor.execute(f"set memory_limit = '{MEMORY}'")
        spill = Path(tempfile.gettempdir()) / f"retrylens-{uuid.uuid4().hex}"
        cursor.execute(f"set temp_directory = '{str(spill).replace(QUOTE, QUOTE * 2)}'")
    return snapshot
