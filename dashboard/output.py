"""Result rows as bytes for a file, a pipe or a terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from dashboard import tables
from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.write import csv_chunks
from dashboard.text import Format, csv_cell, json_text, scalar, visible

CELL_LIMIT = 200
"""Longest cell of a table on a terminal or in a pipe, in characters; the other formats are never cut."""


def show(snapshot: Snapshot, name: str, filters: Filters, kind: Format, out: Path | None) -> int | None:
    """Write the table `name` to `out`, else to standard output.

    Gives the number of rows at which it was cut, None where that did not happen; that of Parquet is not known.
    """
    if kind is Format.PARQUET:
        _show_parquet(snapshot, name, filters, out)
        return None
    if kind is Format.CSV:
        lines = tables.Lines(snapshot, name, filters)
        _write(csv_chunks(iter(lines)), out)
        return lines.cut
    result = tables.fetch(snapshot, name, filters)
    if kind is Format.TABLE and out is None and sys.stdout.isatty():
        _show_rich(result)
    else:
        _write([render(result, kind)], out)
    return len(result.values) if result.cut else None


def render(result: tables.Result, kind: Format) -> bytes:
    """The whole table as JSON (a list of objects) or aligned text."""
    return json_bytes(result.rows) if kind is Format.JSON else _aligned(result).encode()


def json_bytes(rows: Iterable[dict[str, Any]]) -> bytes:
    """A JSON list with one object a line."""
    lines = ",\n".join(f"  {json_text(row)}" for row in rows)
    return (f"[\n{lines}\n]\n" if lines else "[]\n").encode()


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """CSV with a header line, defused for spreadsheets."""
    lines = [",".join(csv_cell(column) for column in columns)]
    lines += [",".join(csv_cell(value) for value in row) for row in rows]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _cells(result: tables.Result) -> list[list[str]]:
    return [[_short(visible(_shown(value))) for value in values] for values in result.values]


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else scalar(value)


def _short(text: str) -> str:
    return text if len(text) <= CELL_LIMIT else f"{text[: CELL_LIMIT - 1]}…"


def _is_number(kind: str) -> bool:
    return kind in ("BIGINT", "INTEGER", "DOUBLE", "HUGEINT") or kind.startswith("DECIMAL")


def _aligned(result: tables.Result) -> str:
    lines = [list(result.columns), *_cells(result)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(result.columns))]
    right = [_is_number(kind) for kind in result.types]
    return "".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, right, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def _show_rich(result: tables.Result) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, kind in zip(result.columns, result.types, strict=True):
        table.add_column(Text(column), justify="right" if _is_number(kind) else "left", overflow="fold")
    for cells in _cells(result):
        table.add_row(*(Text(cell) for cell in cells))
    console = Console()
    console.width = max(console.width, 12 * len(result.columns))
    console.print(table)


def _show_parquet(snapshot: Snapshot, name: str, filters: Filters, out: Path | None) -> None:
    if out is not None:
        tables.save_parquet(snapshot, name, filters, out)
        return
    if sys.stdout.isatty():
        raise UserError("Parquet is not for a terminal: add --out FILE, or send it on with > or |")
    with TemporaryDirectory(prefix="retrylens-") as folder:
        path = Path(folder) / "table.parquet"
        tables.save_parquet(snapshot, name, filters, path)
        with path.open("rb") as written:
            shutil.copyfileobj(written, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _write(pieces: Iterable[bytes], out: Path | None) -> None:
    """Whole lines to a file, a pipe or a terminal, which sees what is hidden in them."""
    waiting = iter(pieces)
    first = next(waiting, b"")
    with _target(out) as target:
        for data in chain((first,), waiting):
            target.write(_harmless(data) if out is None and sys.stdout.isatty() else data)
        target.flush()


@contextmanager
def _target(out: Path | None) -> Iterator[BinaryIO]:
    if out is None:
        yield sys.stdout.buffer
        return
    try:
        with out.open("wb") as file:
            yield file
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}); name another file with --out") from None


def _harmless(data: bytes) -> bytes:
    return "\n".join(visible(line) for line in data.decode("utf-8", "replace").split("\n")).encode()
