"""Raw records: what stands in a file, before it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ingest.formats.spec import State
from ingest.rows.cells import CsvRecord
from ingest.rows.jsontext import JsonValue
from ingest.rows.record import strip_line
from ingest.rows.values import plain_json


@dataclass(frozen=True)
class Raw:
    """A raw record: its line, its place and bytes in the file, and its values by key or the fault that hides them.

    A JSON line has neither values nor fault until it is parsed; a Parquet row has neither place nor bytes.
    """

    line: int
    offset: int | None
    data: bytes
    values: Mapping[str, JsonValue] | None = None
    fault: str | None = None

    def is_blank(self) -> bool:
        return self.offset is not None and not strip_line(self.data)

    def is_unicode(self) -> bool:
        """Whether its bytes are UTF-8."""
        try:
            self.data.decode()
        except UnicodeDecodeError:
            return False
        return True

    def content(self) -> bytes:
        """The bytes by which it is compared with others."""
        return self.data or plain_json(dict(self.values or {})).encode()


def csv_raw(record: CsvRecord, line: int, offset: int, state: State) -> Raw:
    """A CSV record under its header: an empty cell is absent, and of two equal columns the first counts."""
    data = record.data.removesuffix(b"\n").removesuffix(b"\r")
    fault = record.fault
    if fault is None and len(record.cells) != len(state.header):
        fault = f"{len(record.cells)} cells under a header of {len(state.header)}"
    if fault is not None:
        # Which cell stands under which name is unknown then: nothing of it may be kept.
        return Raw(line, offset + record.start, data, None, fault)
    cells = zip(reversed(state.header), reversed(record.cells), strict=True)
    return Raw(line, offset + record.start, data, {name: cell or None for name, cell in cells})


#: Where a JSON document may end that begins at a line's start: a closing brace that ends a line, and is not indented.
LINE_ENDS = b"\n\r"
_END = re.compile(rb"^\}[ \t\r]*$", re.MULTILINE)


def read_documents(data: bytes, first_line: int = 1, offset: int = 0) -> Iterator[Raw]:
    """Objects that extend over lines, each of the line where it begins; blank lines lie between them.

    `data` begins with line `first_line`, at `offset` of its file.
    """
    start, line = 0, first_line
    while start < len(data):
        if data[start] in LINE_ENDS:
            line += data[start] == LINE_ENDS[0]
            start += 1
            continue
        end = document_end(data, start) or len(data)
        yield Raw(line, offset + start, data[start:end])
        line += data.count(b"\n", start, end)
        start = end


def whole_documents(data: bytes) -> int:
    """How many bytes at the start of `data` are complete documents."""
    end = 0
    for raw in read_documents(data):
        if not document_end(data, raw.offset or 0):
            break
        end = (raw.offset or 0) + len(raw.data)
    return end


def document_end(data: bytes, start: int = 0) -> int:
    """Where the object ends that begins at `start`: on its line, or where a line begins with its brace; else 0."""
    line_end = data.find(b"\n", start)
    first = data[start : line_end if line_end >= 0 else len(data)].rstrip()
    if first.endswith(b"}") and line_end >= 0 and first != b"{":
        return line_end
    match = _END.search(data, start)
    return match.end() if match else 0
