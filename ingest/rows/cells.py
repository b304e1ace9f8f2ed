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
    """One record: its first byte, its bytes, and its cells, or the fault that the reader found in it."""

    start: int
    data: bytes
    cells: tuple[str, ...]
    fault: str | None = None
    whole: bool = True


class _Feed(Iterator[str]):
    """Hands the physical lines of `data` to the reader, and knows how many bytes it took."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position

    def __next__(self) -> str:
        if self.position >= len(self.data):
            raise StopIteration
        end = self.data.find(b"\n", self.position) + 1 or len(self.data)
        line = self.data[self.position : end].decode("utf-8", "surrogateescape")
        self.position = end
        return line


def read_csv(data: bytes) -> Iterator[CsvRecord]:
    """The records of `data` in order. After a quote that never closes, reading goes on behind its first line."""
    start = 0
    while start < len(data):
        feed = _Feed(data, start)
        reader = csv.reader(feed, strict=True)
        while start < len(data):
            try:
                cells = tuple(next(reader))
            except csv.Error as error:
                end = data.find(b"\n", start) + 1 or len(data)
                yield CsvRecord(start, data[start:end], (), f"no CSV: {error}", feed.position < len(data))
                start = end
                break
            yield CsvRecord(start, data[start : feed.position], cells, whole=data[feed.position - 1] == LF)
            start = feed.position


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
