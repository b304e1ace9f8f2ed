"""Parquet files as raw records: every column as text, so that the same casts decide as for lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.errors import Refused
from ingest.formats.spec import Format
from ingest.rows.jsontext import JsonValue, Number, parse
from ingest.rows.lines import Numbers
from ingest.rows.raw import Raw

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
FRACTIONS = ("UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
NESTED = ("STRUCT", "MAP", "JSON", "UNION", "VARIANT")


@dataclass(frozen=True)
class TextColumn:
    """A column read as text: the expression that gives the text, and what the text means to the definition."""

    expression: str
    value: Callable[[str], JsonValue]


def parquet_columns(con: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """The top columns of a file in order, named as the file names them. Raises Refused when it cannot be read."""
    try:
        nodes = con.execute(f"select name, num_children from parquet_schema({_quoted(str(path))})").fetchall()
    except duckdb.Error as error:
        raise Refused(f"no readable Parquet file: {str(error).splitlines()[0]}") from None
    names: list[str] = []
    below = 0
    for name, children in nodes[1:]:
        if below:
            below -= 1
        else:
            names.append(str(name))
        below += children or 0
    return names


class ParquetFile:
    """The known columns of one Parquet file. Raises Refused when the file cannot be read."""

    def __init__(self, con: duckdb.DuckDBPyConnection, path: Path) -> None:
        self._con = con
        self.source = (
            f"read_parquet({_quoted(str(path))}, binary_as_string = true, hive_partitioning = false,"
            " file_row_number = true)"
        )
        try:
            described = con.execute(f"describe select * from {self.source}").fetchall()
        except duckdb.Error as error:
            raise Refused(f"no readable Parquet file: {str(error).splitlines()[0]}") from None
        # The engine renames columns whose names differ by case alone; of two equal ones the first counts.
        columns = list(zip(parquet_columns(con, path), described[:-1], strict=True))
        self.columns = {key: _text_column(str(name), str(kind)) for key, (name, kind, *_) in reversed(columns)}

    def count(self) -> int:
        """Its number of rows."""
        found = self._con.execute(f"select count(*) from {self.source}").fetchall()
        return int(found[0][0])

    def keys(self, fmt: Format) -> list[str]:
        """The columns that the format knows."""
        return [name for name in self.columns if name in fmt.types]

    def table(self, fmt: Format) -> str:
        """A relation with the known columns as text, `line_no` (from 1), `suspect` and `exact`."""
        listed = "".join(f"{self.columns[key].expression} as {_named(key)}, " for key in self.keys(fmt))
        return f"(select {listed}file_row_number + 1 as line_no, false as suspect, true as exact from {self.source})"

    def raws(self, fmt: Format, line_nos: Numbers | None = None) -> Iterator[Raw]:
        """Its rows, or those of the given line numbers, in order. Raises Refused when the file proves damaged."""
        keys = self.keys(fmt)
        con = self._con.cursor()
        where = ""
        if line_nos is not None:
            if not len(line_nos):
                return
            con.register("wanted_rows", pa.table({"line_no": line_nos}))
            where = "where line_no in (select line_no from wanted_rows)"
        listed = "".join(f", {_named(key)}" for key in keys)
        try:
            result = con.execute(f"select line_no{listed} from {self.table(fmt)} {where} order by line_no")
            while rows := result.fetchmany(10_000):
                for line_no, *texts in rows:
                    values = {key: self._value(key, text) for key, text in zip(keys, texts, strict=True)}
                    yield Raw(line_no, None, b"", values)
        except duckdb.Error as error:
            raise Refused(f"damaged Parquet file: {str(error).splitlines()[0]}") from None

    def _value(self, key: str, text: str | None) -> JsonValue:
        return None if text is None else self.columns[key].value(text)


def _text_column(name: str, kind: str) -> TextColumn:
    column = _named(name)
    if kind == "BOOLEAN":
        return TextColumn(f"cast({column} as varchar)", lambda text: text == "true")
    if kind.startswith(NUMBERS + FRACTIONS) and not kind.endswith("]"):
        return TextColumn(f"cast({column} as varchar)", Number)
    if kind.endswith("]") or kind.startswith(NESTED):
        return TextColumn(f"cast(to_json({column}) as varchar)", parse)
    if kind.startswith(ZONED):
        return TextColumn(f"cast({column} at time zone 'UTC' as varchar) || 'Z'", str)
    return TextColumn(f"cast({column} as varchar)", str)


def _named(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
