"""Check a warehouse: every file of the snapshot is there with its rows, and every line is accounted for."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ingest.errors import InputError
from ingest.models.parts import Part, quote
from ingest.snapshot.current import read_state


def verify(warehouse: Path) -> list[str]:
    """One sentence a fault: what, where; empty when all is sound.

    Raises InputError where there is no snapshot to check.
    """
    state = read_state(warehouse)
    if state.path is None:
        raise InputError(f"{warehouse}: nothing was loaded into it yet; run `retrylens ingest`")
    con = duckdb.connect()
    faults = [fault for part in state.parts if (fault := _part(con, warehouse, part))]
    con.execute(f"attach {quote(str(state.path))} as snapshot (read_only)")
    uneven = con.execute(
        "select load_id, file from snapshot.loads where lines <> facts + rejects + blank + repeated"
    ).fetchall()
    faults += [f"load {load_id} of {file}: its lines are not the sum of their kinds" for load_id, file in uneven]
    kept = sum(part.rows for part in state.parts if part.relation == "rejects")
    told = con.execute("select coalesce(sum(rejects), 0) from snapshot.loads").fetchall()[0][0]
    if kept != told:
        faults.append(f"{warehouse}: {told} rejects were counted and {kept} are kept")
    con.close()
    return faults


def _part(con: duckdb.DuckDBPyConnection, warehouse: Path, part: Part) -> str | None:
    path = warehouse / part.path
    if not path.exists():
        return f"{part.path}: missing"
    try:
        rows = con.execute(
            "select count(*) from (select hash(data) as seen from"
            f" read_parquet({quote(str(path))}, hive_partitioning = false) as data) where seen is not null"
        ).fetchall()[0][0]
    except duckdb.Error as error:
        return f"{part.path}: unreadable ({str(error).splitlines()[0]})"
    return None if rows == part.rows else f"{part.path}: {rows} rows, {part.rows} expected"
