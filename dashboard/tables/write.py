"""Result tables as files: the engine writes every cell, so that a table of any length passes through little memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dashboard.text import csv_cell

if TYPE_CHECKING:
    import duckdb
    from duckdb.sqltypes import DuckDBPyType

ROWS_AT_ONCE = 8_192
_MACROS = Path(__file__).with_name("csv.sql")
_PLAIN = {"boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "ubigint", "uinteger"}


def csv_lines(cursor: duckdb.DuckDBPyConnection, statement: str) -> Iterator[str]:
    """The header and each row of a statement as CSV, without their line ends."""
    cursor.execute(_macros())
    relation = cursor.sql(statement)
    yield ",".join(csv_cell(name) for name in relation.columns)
    cells = [_cell(f'"{name}"', kind) for name, kind in zip(relation.columns, relation.types, strict=True)]
    found = cursor.execute(f"select concat_ws(',', {', '.join(cells)}) from (\n{statement}\n)")
    while rows := found.fetchmany(ROWS_AT_ONCE):
        for (line,) in rows:
            yield line


def csv_chunks(lines: Iterator[str]) -> Iterator[bytes]:
    """Lines of CSV as bytes, some thousand at once."""
    while some := list(islice(lines, ROWS_AT_ONCE)):
        yield ("\n".join(some) + "\n").encode()


def copy_parquet(cursor: duckdb.DuckDBPyConnection, statement: str, path: Path) -> None:
    """Write the rows of a statement to a Parquet file."""
    target = str(path).replace("'", "''")
    cursor.execute(f"copy (\n{statement}\n) to '{target}' (format parquet)")


def stored(cursor: duckdb.DuckDBPyConnection, columns: Mapping[str, str], values: Sequence[Sequence[Any]]) -> str:
    """A statement that gives these rows, whose columns have these types."""
    listed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    cursor.execute(f"create or replace temp table made_rows ({listed})")
    if values:
        cursor.executemany(f"insert into made_rows values ({', '.join('?' * len(columns))})", values)
    return "select * from made_rows order by rowid"


@cache
def _macros() -> str:
    return _MACROS.read_text(encoding="utf-8")


def _cell(value: str, kind: DuckDBPyType) -> str:
    """SQL of a cell: text is defused and quoted, what is unknown is empty."""
    known = f"csv_text({_text(value, kind)})" if kind.id in ("varchar", "list", "map") else _text(value, kind)
    if kind.id in ("double", "float"):
        known = f"case when isfinite({value}) then {known} else '\"\"' end"
    return f"case when {value} is null then '' else {known} end"


def _text(value: str, kind: DuckDBPyType) -> str:
    """SQL of a value that is known as `dashboard.text.scalar` writes it. Raises TypeError for a type of no table."""
    if kind.id == "varchar":
        return value
    if kind.id in _PLAIN or kind.id in ("double", "float"):
        return f"{value}::varchar"
    if kind.id == "decimal":
        return f"csv_decimal({value})"
    if kind.id == "timestamp":
        return f"strftime({value}, '%Y-%m-%dT%H:%M:%S.%fZ')"
    children = cast("dict[str, DuckDBPyType]", dict(kind.children)) if kind.id in ("list", "map") else {}
    if kind.id == "list":
        return f"array_to_string(list_transform({value}, lambda e: {_part('e', children['child'])}), ';')"
    if kind.id == "map" and children["key"].id == "varchar":
        part = f"e.key || '=' || {_part('e.value', children['value'])}"
        return f"array_to_string(list_transform(map_entries({value}), lambda e: {part}), ';')"
    raise TypeError(f"no CSV form of {kind}")


def _part(value: str, kind: DuckDBPyType) -> str:
    return f"case when {value} is null then '' else {_text(value, kind)} end"
