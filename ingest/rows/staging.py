"""The staging tables of a load: typed rows by relation, rejects, mended keys and hashes of the lines of facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.facts.columns import COLUMNS, COUNT, FLAG, MONEY, MS, TEXT, TIME
from ingest.rows.arrays import array, table
from ingest.rows.error_types import error_macros
from ingest.rows.record import Record

FOLDER = Path(__file__).parent
#: Columns that the statements `<relation>.sql` work out of the typed ones.
DERIVED = {"attempts": ("outcome", "reason"), "postbacks": ("outcome",)}
#: Typed columns that are not facts: the code as text, what a format declares (an answer that has no status; that its
#: source can carry no code), and what the body said.
EXTRA = {
    "attempts": {
        "nbr": TEXT,
        "answered": FLAG,
        "no_code": FLAG,
        "body_kind": TEXT,
        "body_bids": COUNT,
        "body_price": MONEY,
        "body_currency": TEXT,
        "body_nbr": TEXT,
    }
}
PLACE = {"file_no": COUNT, "line_no": COUNT}
_ARROW = {
    TEXT: pa.string(),
    COUNT: pa.int64(),
    MS: pa.float64(),
    MONEY: pa.decimal128(18, 6),
    TIME: pa.timestamp("us"),
    FLAG: pa.bool_(),
}
_REJECTS = pa.schema(
    [
        ("file_no", pa.int64()),
        ("line", pa.int64()),
        ("offset", pa.int64()),
        ("reason", pa.string()),
        ("raw", pa.string()),
    ]
)
_MENDED = pa.schema([("file_no", pa.int64()), ("line_no", pa.int64()), ("key", pa.string())])
_HASHES = pa.schema([("file_no", pa.int64()), ("line_no", pa.int64()), ("hash", pa.binary())])


@cache
def typed_columns(relation: str) -> dict[str, str]:
    """Column -> engine type of a row before its derived columns are worked out."""
    derived = DERIVED.get(relation, ())
    facts = {name: kind for name, kind in COLUMNS[relation] if name not in derived}
    return facts | EXTRA.get(relation, {}) | PLACE


@cache
def derivation(relation: str) -> str:
    """The statement that makes staged rows of `typed_<relation>`."""
    if relation not in DERIVED:
        return f"select * from typed_{relation}"
    return (FOLDER / f"{relation}.sql").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Rejected:
    """A record that became no fact: its line, byte offset (None in Parquet), reason and masked text."""

    line: int
    offset: int | None
    reason: str
    raw: str


def record_tables(file_no: int, records: Sequence[tuple[int, Record]]) -> dict[str, pa.Table]:
    """The typed rows of (line number, record) pairs, by relation."""
    by_relation: dict[str, list[dict[str, object]]] = {}
    for line_no, record in records:
        place = {"file_no": file_no, "line_no": line_no}
        by_relation.setdefault(record.relation.name, []).append({**record.values, **place})
    tables = {}
    for relation, rows in by_relation.items():
        kinds = typed_columns(relation)
        tables[relation] = table(
            {name: array([row.get(name) for row in rows], _ARROW[kind]) for name, kind in kinds.items()}
        )
    return tables


def rejects_table(file_no: int, rejects: Sequence[Rejected]) -> pa.Table:
    """The rows of `stage_rejects`."""
    columns = [[getattr(reject, name) for reject in rejects] for name in _REJECTS.names[1:]]
    return _of(_REJECTS, [[file_no] * len(rejects), *columns])


def _of(schema: pa.Schema, columns: Sequence[Sequence[object]]) -> pa.Table:
    return table({item.name: array(values, item.type) for item, values in zip(schema, columns, strict=True)})


class Staging:
    """Owns the staging tables of one connection: `stage_<relation>`, `stage_rejects`, `_mended` and `_hashes`."""

    def __init__(self, con: duckdb.DuckDBPyConnection, *, want_hashes: bool) -> None:
        self.con = con
        for relation, facts in COLUMNS.items():
            columns = dict(facts) | PLACE
            con.execute(f"create or replace temp table stage_{relation} ({declare(columns)})")
        con.execute(
            "create or replace temp table stage_rejects"
            ' (file_no bigint, line bigint, "offset" bigint, reason varchar, raw varchar)'
        )
        con.execute(error_macros())
        con.execute("create or replace temp table stage_mended (file_no bigint, line_no bigint, key varchar)")
        self.tables = [*(f"stage_{relation}" for relation in COLUMNS), "stage_rejects", "stage_mended"]
        self.want_hashes = want_hashes
        if want_hashes:
            con.execute("create or replace temp table stage_hashes (file_no bigint, line_no bigint, hash blob)")
            self.tables.append("stage_hashes")

    def add_records(self, tables: Mapping[str, pa.Table]) -> None:
        """Stages typed rows by relation, as `record_tables` gives them."""
        for relation, rows in tables.items():
            self.con.register("typed_rows", rows)
            try:
                self.derive(relation, "select * from typed_rows")
            finally:
                self.con.unregister("typed_rows")

    def derive(self, relation: str, rows: str) -> int:
        """Stages the typed rows that the statement `rows` selects, with their derived columns; gives their number."""
        found = self.con.execute(
            f"insert into stage_{relation} by name"
            f" with typed_{relation} as ({rows}) select * from ({derivation(relation)})"
        ).fetchone()
        return int(found[0]) if found else 0

    def take_odd(self, relation: str, file_no: int, first: int, last: int) -> NDArray[np.int64]:
        """Removes the odd rows (negative line numbers) among these lines of a file; gives their line numbers."""
        odd = f"from stage_{relation} where line_no between -{last} and -{first} and file_no = {file_no}"
        found = self.con.execute(f"select -line_no as line_no {odd}").fetchnumpy()["line_no"]
        if len(found):
            self.con.execute(f"delete {odd}")
        return np.asarray(found, np.int64)

    def drop(self, relation: str, file_no: int, first: int, last: int) -> None:
        """Removes all rows of these lines of a file, and those of no known line."""
        self.con.execute(
            f"delete from stage_{relation} where file_no = {file_no}"
            f" and (line_no is null or abs(line_no) between {first} and {last})"
        )

    def add_rejects(self, rejects: pa.Table) -> None:
        """Stages rejects as `rejects_table` gives them."""
        if rejects.num_rows:
            self._append("stage_rejects", rejects)

    def add_mended(self, file_no: int, mended: Sequence[tuple[int, str]]) -> None:
        """Stages (line number, input key) of values that did not cast."""
        if mended:
            lines, keys = zip(*mended, strict=True)
            self._append("stage_mended", _of(_MENDED, [[file_no] * len(lines), lines, keys]))

    def add_hashes(self, file_no: int, hashes: Sequence[tuple[int, bytes]]) -> None:
        """Stages (line number, hash of the line's bytes) pairs."""
        if hashes:
            lines, digests = zip(*hashes, strict=True)
            self._append("stage_hashes", _of(_HASHES, [[file_no] * len(lines), lines, digests]))

    def _append(self, table: str, rows: pa.Table) -> None:
        self.con.register("new_rows", rows)
        try:
            self.con.execute(f"insert into {table} by name select * from new_rows")
        finally:
            self.con.unregister("new_rows")

    def forget(self, file_no: int) -> None:
        """Drops all that was staged of a file."""
        for name in self.tables:
            self.con.execute(f"delete from {name} where file_no = ?", [file_no])


def declare(columns: dict[str, str]) -> str:
    """Column definitions for CREATE TABLE."""
    return ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
