"""Marks: moments that people note in a small CSV file (a deploy, a new rate limit), drawn on the charts over time.

The file has a header with `ts` and `label`, and perhaps `partner`. `ts` is ISO 8601 with an offset, or in UTC; a mark
without a partner is everybody's. A row that cannot be read is told with its line, and the others hold.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dashboard.errors import UserError
from dashboard.filters import parse_moment

FILE = "marks.csv"
VARIABLE = "RETRYLENS_MARKS"
MOST_BYTES = 1 << 20
MOST_ROWS = 5_000


@dataclass(frozen=True)
class Mark:
    """One moment in epoch microseconds; `partner` None: of everybody."""

    at_us: int
    label: str
    partner: str | None = None


@dataclass(frozen=True)
class Fault:
    """What cannot be read: `kind` names the reason, `line` the line of the file (0: the file), `text` what is there."""

    kind: str
    line: int = 0
    text: str = ""


@dataclass(frozen=True)
class Marks:
    """What a file tells, oldest first, and what is wrong with it."""

    marks: tuple[Mark, ...] = ()
    faults: tuple[Fault, ...] = ()


def place(warehouse: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The file: the one that was named to `retrylens serve`, else `marks.csv` in the warehouse."""
    named = environ.get(VARIABLE)
    return Path(named) if named else warehouse / FILE


def state(path: Path) -> tuple[int, int] | None:
    """What changes when the file does; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def read(path: Path) -> Marks:
    """The marks of a file; no file, no marks."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return Marks()
    except OSError as error:
        return Marks(faults=(Fault("unreadable", 0, error.strerror or ""),))
    if len(content) > MOST_BYTES:
        return Marks(faults=(Fault("too_large"),))
    try:
        return _parse(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Marks(faults=(Fault("not_utf8", content.count(b"\n", 0, error.start) + 1),))


def _parse(text: str) -> Marks:
    reader = csv.reader(io.StringIO(text, newline=""))
    marks: list[Mark] = []
    faults: list[Fault] = []
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if not {"ts", "label"} <= set(header):
            return Marks(faults=(Fault("no_header", 1, ",".join(header)),))
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(marks) + len(faults) >= MOST_ROWS:
                faults.append(Fault("too_many", reader.line_num))
                break
            found = _row(dict(zip(header, cells, strict=False)), reader.line_num)
            (marks if isinstance(found, Mark) else faults).append(found)  # type: ignore[arg-type]
    except csv.Error as error:
        faults.append(Fault("not_csv", reader.line_num, str(error)))
    return Marks(tuple(sorted(marks, key=lambda mark: mark.at_us)), tuple(faults))


def _row(row: Mapping[str, str], line: int) -> Mark | Fault:
    label, partner = row.get("label", "").strip(), row.get("partner", "").strip()
    try:
        at_us = parse_moment(row["ts"], "UTC", "ts")
    except UserError:
        at_us = None
    if at_us is None:
        return Fault("bad_time", line, row["ts"])
    return Mark(at_us, label, partner or None) if label else Fault("no_label", line)
