"""Publish a snapshot: a new DuckDB file beside the last one, then one rename that every reader sees whole.

The file holds the small tables (loads, metrics, codes, settings) and, for guests with a DuckDB shell, views over the
exact Parquet files. Its name ends in the digest of its content, and it keeps the digest of every Parquet file. A crash
before the rename leaves the last snapshot as it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ingest.dictionary import load_dictionary
from ingest.flag_history import COLUMNS as FLAG_COLUMNS
from ingest.models.parts import Part, quote, scan
from ingest.models.relations import CUBES, FACTS, JUDGED, model_sql
from ingest.settings import STORED, Settings
from ingest.snapshot.current import CURRENT, SCHEMA_VERSION, SNAPSHOTS, State
from ingest.snapshot.digest import file_digest, sealed, settle, sync
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


def publish(warehouse: Path, state: State, parts: Sequence[Part], new: Publication) -> Path:
    """Write the snapshot after `state` and point CURRENT at it; gives its path. `new.loads` are added to the old."""
    folder = warehouse / SNAPSHOTS
    folder.mkdir(parents=True, exist_ok=True)
    number = state.generation + 1
    settled = settle(warehouse, [warehouse / part.path for part in parts if not part.digest])
    parts = sealed(warehouse, parts)
    draft = folder / f".{number:08d}-{os.getpid()}.duckdb"
    draft.unlink(missing_ok=True)
    con = duckdb.connect(str(draft))
    try:
        con.execute("set TimeZone = 'UTC'; set autoinstall_known_extensions = false")
        con.execute("begin")
        _tables(con, state, parts, new, number)
        _views(con, warehouse, parts)
        con.execute("commit")
        con.execute("checkpoint")
    except BaseException:
        con.close()
        draft.unlink(missing_ok=True)
        raise
    con.close()
    sync(draft)
    name = f"{number:08d}-{file_digest(draft)}.duckdb"
    final = folder / name
    draft.rename(final)
    settled()
    sync(folder)
    _retire(warehouse, state, parts)
    pointer = warehouse / f".{CURRENT}-{os.getpid()}"
    pointer.write_text(name + "\n", encoding="utf-8")
    sync(pointer)
    pointer.replace(warehouse / CURRENT)
    sync(warehouse)
    return final


def _retire(warehouse: Path, state: State, parts: Sequence[Part]) -> None:
    """Let files that are not named any more bear the time since when they are not: sweeping goes by it."""
    named = {part.path for part in parts}
    gone = [warehouse / part.path for part in state.parts if part.path not in named]
    for path in (*gone, *([state.path] if state.path else [])):
        with suppress(OSError):
            os.utime(path)


def _tables(con: duckdb.DuckDBPyConnection, state: State, parts: Sequence[Part], new: Publication, number: int) -> None:
    _table(
        con,
        "meta",
        {"key": "varchar", "value": "varchar"},
        [
            ("schema_version", str(SCHEMA_VERSION)),
            ("snapshot_id", str(number)),
            ("stored_settings", ",".join(STORED)),
            ("published_us", str(time.time_ns() // 1000)),
            *_facts_kept(state, parts, new),
        ],
    )
    _table(
        con,
        "files",
        {
            "relation": "varchar",
            "path": "varchar",
            "rows": "bigint",
            "lo_us": "bigint",
            "hi_us": "bigint",
            "unit_us": "bigint",
            "span_us": "bigint",
            "bytes": "bigint",
            "digest": "varchar",
        },
        [(p.relation, p.path, p.rows, p.lo_us, p.hi_us, p.unit_us, p.span_us, p.size, p.digest) for p in parts],
    )
    _table(
        con,
        "models",
        {"name": "varchar", "sql": "varchar", "bases": "varchar"},
        [(f"minute_{cube.name}", model_sql(f"minute_{cube.name}"), ",".join(cube.bases)) for cube in CUBES]
        + [("hour_latency", model_sql("hour_latency"), "attempts")]
        + [(name, model_sql(name), "attempts,auctions") for name in JUDGED],
    )
    _table(con, "evidence", {"name": "varchar", "present": "boolean"}, list(new.evidence.items()))
    _table(
        con,
        "streams",
        {"stream": "varchar", "first_us": "bigint", "newest_us": "bigint"},
        [(stream, first, newest) for stream, (first, newest) in new.streams.items()],
    )
    _table(con, "settings", {"name": "varchar", "value": "varchar"}, new.settings.rows())
    _table(con, "known", dict(KNOWN_COLUMNS), new.known)
    _table(con, "flag_history", FLAG_COLUMNS, new.flag_history)
    _table(con, "loads", LOAD_COLUMNS, ())
    if state.path is not None:
        con.execute("commit")
        con.execute(f"attach {quote(str(state.path))} as last (read_only)")
        con.execute("begin")
        con.execute("insert into loads select * from last.loads")
        if new.known_gone is not None:
            con.execute(
                "insert into known select * exclude (place) from"
                " (select *, row_number() over (order by rowid) - 1 as place from last.known)"
                " where place not in (select unnest(?::bigint[]))",
                [list(new.known_gone)],
            )
        con.execute("commit")
        con.execute("detach last")
        con.execute("begin")
    _insert(con, "loads", LOAD_COLUMNS, new.loads)
    for table in load_dictionary():
        _table(con, table.name, table.columns, table.rows)


def _facts_kept(state: State, parts: Sequence[Part], new: Publication) -> list[tuple[str, str]]:
    """Since when facts are kept, and how many rows ever came and went: they have to be those that `parts` hold."""
    since = state.facts_from_us if new.facts_from_us is None else new.facts_from_us
    written, dropped = state.fact_rows + new.added_rows, state.dropped_rows + new.dropped_rows
    held = sum(part.rows for part in parts if part.relation in FACTS)
    if held + dropped != written:
        raise AssertionError(f"{written} rows of facts were written, {dropped} dropped and {held} are left")
    return [("facts_from_us", str(since)), ("fact_rows", str(written)), ("dropped_rows", str(dropped))]


def _views(con: duckdb.DuckDBPyConnection, warehouse: Path, parts: Sequence[Part]) -> None:
    con.execute(model_sql("functions"))
    relations: dict[str, list[Part]] = {}
    for part in parts:
        relations.setdefault(part.relation, []).append(part)
    for relation, held in relations.items():
        con.execute(f"create view {relation} as select * from {scan(warehouse.resolve(), held)}")


def _table(
    con: duckdb.DuckDBPyConnection, name: str, columns: dict[str, str], rows: Sequence[tuple[object, ...]]
) -> None:
    con.execute(f"create table {name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})")
    _insert(con, name, columns, rows)


def _insert(
    con: duckdb.DuckDBPyConnection, name: str, columns: dict[str, str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Insert `rows` a column at a time: one statement, however many rows."""
    if rows:
        listed = ", ".join(f"unnest(?::{kind}[])" for kind in columns.values())
        con.execute(f"insert into {name} select {listed}", [list(column) for column in zip(*rows, strict=True)])
