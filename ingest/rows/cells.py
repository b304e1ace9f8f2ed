"""CSV records: cells may hold line ends, so records are found by reading, not by line ends."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.rows.lines import LF

#: A cell may hold a whole bid response; a stray quote must not swallow the rest of a file.
MAX_CELL = 4 * 1024 * 1024
csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))


@dataclass(frozen=True)
class CsvRecord:
    """One record: its first byte and line (from 0), its bytes, and its cells, or the fault found in it."""

    start: int
    line: int
    data: bytes
    cells: tuple[str, ...]
    fault: str | None = None
    whole: bool = True


class _Feed(Iterator[str]):
    """Hands the physical lines of `data` to the reader, and knows how many bytes it took."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position
        self.lines = 0

    def __next__(self) -> str:
        if self.position >= len(self.data):
            raise StopIteration
        end = self.data.find(b"\n", self.position) + 1 or len(self.data)
        line = self.data[self.position : end].decode("utf-8", "surrogateescape")
        self.position = end
        self.lines += 1
        return line


def read_csv(data: bytes) -> Iterator[CsvRecord]:
    """The records of `data` in order. After a quote that never closes, reading goes on behind its first line."""
    start = line = 0
    while start < len(data):
        feed = _Feed(data, start)
        first = line
        reader = csv.reader(feed, strict=True)
        while start < len(data):
            try:
                cells = tuple(next(reader))
            except csv.Error as error:
                end = data.find(b"\n", start) + 1 or len(data)
                yield CsvRecord(start, line, data[start:end], (), f"no CSV: {error}", feed.position < len(data))
                start = end
                line += 1
                break
            yield CsvRecord(start, line, data[start : feed.position], cells, whole=data[feed.position - 1] == LF)
            start = feed.position
            line = first + feed.lines


def whole_records(data: bytes) -> int:
    """How many bytes at the start of `data` are complete records, line ends included.

    Less than all of them is normal at the end of a segment: the rest belongs to the next one. 0 asks for more data.
    """
    end = 0
    for record in read_csv(data):
        if not record.whole:
            break
        end = record.start + len(record.data)
    return end
