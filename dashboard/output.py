"""Result rows as bytes for a file, a pipe or a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dashboard import tables
from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.text import Format, csv_cell, json_text, scalar, visible

CELL_LIMIT = 200
"""Longest cell of a table on a terminal or in a pipe, in characters; the other formats are never cut."""


def show(snapshot: Snapshot, name: str, filters: Filters, kind: Format, out: Path | None) -> tables.Result | None:
    """Write the table `name` to `out`, else to standard output; gives what was written, but for Parquet."""
    if kind is Format.PARQUET:
        _show_parquet(snapshot, name, filters, out)
        return None
    result = tables.fetch(snapshot, name, filters)
    to_terminal = out is None and sys.stdout.isatty()
    if kind is Format.TABLE and to_terminal:
        _show_rich(result)
        return result
    data = render(result, kind)
    if to_terminal:
        data = "\n".join(visible(line) for line in data.decode("utf-8", "replace").split("\n")).encode()
    _write(data, out)
    return result


def render(result: tables.Result, kind: Format) -> bytes:
    """The whole table as JSON (a list of objects), CSV or aligned text."""
    if kind is Format.JSON:
        return json_bytes(result.rows)
    if kind is Format.CSV:
        return csv_bytes(result.columns, result.values)
    return _aligned(result).encode()


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
        _write(path.read_bytes(), None)


def _write(data: bytes, out: Path | None) -> None:
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        out.write_bytes(data)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}); name another file with --out") from None
