"""Raw records: what stands in a file, before it is read."""

from __future__ import annotations

from collections.abc import Mapping
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
