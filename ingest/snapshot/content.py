"""What stands in a snapshot's file: the small tables, and views over the exact Parquet files.

A snapshot goes on from the last one: its file is a copy in which only what changed is made anew, for most relations and
all codes stay as they are from load to load.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ingest.dictionary import load_dictionary
from ingest.flag_history import COLUMNS as FLAG_COLUMNS
from ingest.models.parts import Part, quote, scan
from ingest.models.relations import CUBES, FACTS, JUDGED, model_sql
from ingest.settings import STORED, Settings
from ingest.snapshot.current import SCHEMA_VERSION, State
from ingest.snapshot.digest import file_digest
from ingest.sources.known import COLUMNS as KNOWN_COLUMNS

LOAD_COLUMNS = {
    "load_id": "bigint",
    "file": "varchar",
    "format": "varchar",
    "lines": "bigint",
    "facts": "bigint",
    "rejects": "bigint",
    "blank": "bigint",
    "repeated": "bigint",
    "mended": "varchar",
    "started": "timestamp",
    "finished": "timestamp",
    "status": "varchar",
    "reason": "varchar",
}
#: The least that the engine knows: many small tables would fill a few per cent of larger ones.
BLOCK_BYTES = 16_384

MODEL_COLUMNS = {"name": "varchar", "sql": "varchar", "bases": "varchar"}
FILE_COLUMNS = {
    "relation": "varchar",
    "path": "varchar",
    "rows": "bigint",
    "lo_us": "bigint",
    "hi_us": "bigint",
    "unit_us": "bigint",
    "span_us": "bigint",
    "bytes": "bigint",
    "digest": "varchar",
}


@dataclass
class Publication:
    """What a snapshot is made of, beside the parts.

    `known` are the contents that the last snapshot has not, `known_gone` the places of the rows of its table that go
    (None: all). `added_rows` and `dropped_rows` count the facts that came and went since the last one; `facts_from_us`
    is the first instant whose events are kept (None: as before).
    """

    settings: Settings
    evidence: dict[str, bool] = field(default_factory=dict)
    streams: dict[str, tuple[int, int]] = field(default_factory=dict)
    known: Sequence[tuple[object, ...]] = ()
    known_gone: Sequence[int] | None = None
    loads: Sequence[tuple[object, ...]] = ()
    flag_history: Sequence[tuple[object, ...]] = ()
    facts_from_us: int | None = None
    added_rows: int = 0
    dropped_rows: int = 0


def write_content(draft: Path, warehouse: Path, state: State, parts: Sequence[Part], new: Publication) -> None:
    """Write the file `draft`, the snapshot after `state`."""
    made_of = _made_of(warehouse)
    stand: Mapping[str, Sequence[Part]] = {}
    # A file that is not what was written must not be handed on under a digest of its own.
    goes_on = state.path is not None and state.made_of == made_of and state.path.stem.endswith(file_digest(state.path))
    if goes_on and state.path is not None:
        shutil.copyfile(state.path, draft)
        stand = _by_relation(state.parts)
    con = duckdb.connect(str(draft), config={"default_block_size": BLOCK_BYTES})
    try:
        con.execute("set TimeZone = 'UTC'; set autoinstall_known_extensions = false")
        if not goes_on:
            _start(con, state, new)
        con.execute("begin")
        _tables(con, state, parts, new, made_of)
        _views(con, warehouse, _by_relation(parts), stand)
        con.execute("commit")
        con.execute("checkpoint")
    finally:
        con.close()


def _made_of(warehouse: Path) -> str:
    """Tells whether the file of a snapshot can go on: what it holds whatever is loaded, and where its parts lie."""
    held = (str(warehouse.resolve()), SCHEMA_VERSION, model_sql("functions"), _models(), load_dictionary())
    return hashlib.blake2b(repr(held).encode(), digest_size=16).hexdigest()


def _models() -> list[tuple[str, str, str]]:
    return [
        *((f"minute_{cube.name}", model_sql(f"minute_{cube.name}"), ",".join(cube.bases)) for cube in CUBES),
        ("hour_latency", model_sql("hour_latency"), "attempts"),
        *((name, model_sql(name), "attempts,auctions") for name in JUDGED),
    ]


def _start(con: duckdb.DuckDBPyConnection, state: State, new: Publication) -> None:
    """What is the same in every snapshot of this version, and the loads and contents of the last one."""
    con.execute("begin")
    con.execute(model_sql("functions"))
    _table(con, "models", MODEL_COLUMNS, _models())
    for table in load_dictionary():
        _table(con, table.name, table.columns, table.rows)
    _table(con, "loads", LOAD_COLUMNS, ())
    _table(con, "known", dict(KNOWN_COLUMNS), ())
    con.execute("commit")
    if state.path is not None:
        con.execute(f"attach {quote(str(state.path))} as last (read_only)")
        con.execute("insert into loads select * from last.loads")
        if new.known_gone is not None:
            con.execute("insert into known select * from last.known order by rowid")
        con.execute("detach last")


def _tables(
    con: duckdb.DuckDBPyConnection, state: State, parts: Sequence[Part], new: Publication, made_of: str
) -> None:
    """The tables that a load changes."""
    meta = {
        "schema_version": str(SCHEMA_VERSION),
        "snapshot_id": str(state.generation + 1),
        "stored_settings": ",".join(STORED),
        "published_us": str(time.time_ns() // 1000),
        "made_of": made_of,
        **_facts_kept(state, parts, new),
    }
    _table(con, "meta", {"key": "varchar", "value": "varchar"}, list(meta.items()))
    _table(
        con,
        "files",
        FILE_COLUMNS,
        [(p.relation, p.path, p.rows, p.lo_us, p.hi_us, p.unit_us, p.span_us, p.size, p.digest) for p in parts],
    )
    _table(con, "evidence", {"name": "varchar", "present": "boolean"}, list(new.evidence.items()))
    _table(
        con,
        "streams",
        {"stream": "varchar", "first_us": "bigint", "newest_us": "bigint"},
        [(stream, first, newest) for stream, (first, newest) in new.streams.items()],
    )
    _table(con, "settings", {"name": "varchar", "value": "varchar"}, new.settings.rows())
    _table(con, "flag_history", FLAG_COLUMNS, new.flag_history)
    _insert(con, "loads", LOAD_COLUMNS, new.loads)
    if new.known_gone is None:
        con.execute("delete from known")
    elif new.known_gone:
        con.execute(
            "delete from known where rowid in (select id from (select rowid as id, row_number() over (order by rowid)"
            " - 1 as place from known) where place in (select unnest(?::bigint[])))",
            [list(new.known_gone)],
        )
    _insert(con, "known", dict(KNOWN_COLUMNS), new.known)


def _facts_kept(state: State, parts: Sequence[Part], new: Publication) -> dict[str, str]:
    """Since when facts are kept, and how many rows ever came and went: they have to be those that `parts` hold."""
    since = state.facts_from_us if new.facts_from_us is None else new.facts_from_us
    written, dropped = state.fact_rows + new.added_rows, state.dropped_rows + new.dropped_rows
    held = sum(part.rows for part in parts if part.relation in FACTS)
    if held + dropped != written:
        raise AssertionError(f"{written} rows of facts were written, {dropped} dropped and {held} are left")
    return {"facts_from_us": str(since), "fact_rows": str(written), "dropped_rows": str(dropped)}


def _by_relation(parts: Sequence[Part]) -> dict[str, list[Part]]:
    held: dict[str, list[Part]] = {}
    for part in parts:
        held.setdefault(part.relation, []).append(part)
    return held


def _views(
    con: duckdb.DuckDBPyConnection,
    warehouse: Path,
    held: Mapping[str, Sequence[Part]],
    stand: Mapping[str, Sequence[Part]],
) -> None:
    """A view over the parts of each relation; those that `stand` over the same parts stay."""
    for relation, parts in held.items():
        if [part.path for part in parts] != [part.path for part in stand.get(relation, ())]:
            con.execute(f"create or replace view {relation} as select * from {scan(warehouse.resolve(), parts)}")


def _table(
    con: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, str], rows: Sequence[tuple[object, ...]]
) -> None:
    listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
    con.execute(f"create or replace table {name} ({listed})")
    _insert(con, name, columns, rows)


def _insert(
    con: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Insert `rows` a column at a time: one statement, however many rows."""
    if rows:
        listed = ", ".join(f"unnest(?::{kind}[])" for kind in columns.values())
        con.execute(f"insert into {name} select {listed}", [list(column) for column in zip(*rows, strict=True)])
