"""What the last snapshot of a warehouse says, as the next load needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ingest.errors import InputError, NewerVersion
from ingest.flag_history import COLUMNS as FLAG_COLUMNS
from ingest.flag_history import Flag
from ingest.models.parts import Part, quote_name
from ingest.models.relations import FACTS
from ingest.sources.known import BEFORE
from ingest.sources.known import COLUMNS as KNOWN_COLUMNS

#: Layout of the snapshots written here. 2: state machines, audit, chains and the flags' history came. 4: converted
#: auctions, and counts by breaker state and by window. 5: counts of 429s by what came of them.
SCHEMA_VERSION = 5
CURRENT = "CURRENT"
SNAPSHOTS = "snapshots"


@dataclass
class State:
    """The published state: parts, known contents, evidence, settings and where the next names start.

    `version` is the layout of its snapshot: an older one has the facts, not all of the models. `facts_from_us` is the
    first instant whose events are kept (0: all are); of the `fact_rows` ever written, `dropped_rows` went with age.
    `made_of` tells what its file holds whatever is loaded.
    """

    path: Path | None = None
    version: int = SCHEMA_VERSION
    generation: int = 0
    next_load: int = 1
    parts: list[Part] = field(default_factory=list)
    known: list[tuple[object, ...]] = field(default_factory=list)
    evidence: dict[str, bool] = field(default_factory=dict)
    streams: dict[str, tuple[int, int]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    flag_history: list[Flag] = field(default_factory=list)
    facts_from_us: int = 0
    fact_rows: int = 0
    dropped_rows: int = 0
    made_of: str = ""


def current_path(warehouse: Path) -> Path | None:
    """The published snapshot's file, None where nothing was published."""
    pointer = warehouse / CURRENT
    try:
        name = pointer.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    return warehouse / SNAPSHOTS / name


def read_state(warehouse: Path) -> State:
    """State of the last publish.

    Raises InputError where the snapshot was written by a newer version or its file is gone.
    """
    path = current_path(warehouse)
    if path is None:
        return State()
    if not path.exists():
        raise InputError(f"{path}: the snapshot that {CURRENT} names is missing; restore it from a backup")
    try:
        con = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise InputError(
            f"{path}: cannot be read ({str(error).splitlines()[0]}); restore it from a backup, or load the logs into"
            " a new warehouse"
        ) from None
    try:
        meta = dict(con.execute("select key, value from meta").fetchall())
        if int(meta["schema_version"]) > SCHEMA_VERSION:
            raise NewerVersion(
                f"{warehouse}: written by a newer version (schema {meta['schema_version']}, this one knows"
                f" {SCHEMA_VERSION}); upgrade retrylens"
            )
        version = int(meta["schema_version"])
        sums = "bytes, digest" if version > 1 else "0, ''"
        columns = f"relation, path, rows, lo_us, hi_us, unit_us, span_us, {sums}"
        parts = [Part(*row) for row in con.execute(f"select {columns} from files").fetchall()]
        streams = con.execute("select stream, first_us, newest_us from streams").fetchall()
        return State(
            path=path,
            version=version,
            generation=int(meta["snapshot_id"]),
            next_load=int(con.execute("select coalesce(max(load_id), 0) + 1 from loads").fetchall()[0][0]),
            parts=parts,
            known=_known(con),
            evidence=dict(con.execute("select name, present from evidence").fetchall()),
            streams={stream: (first, newest) for stream, first, newest in streams},
            settings=dict(con.execute("select name, value from settings").fetchall()),
            flag_history=_flags(con),
            facts_from_us=int(meta.get("facts_from_us", 0)),
            fact_rows=int(meta.get("fact_rows", sum(part.rows for part in parts if part.relation in FACTS))),
            dropped_rows=int(meta.get("dropped_rows", 0)),
            made_of=meta.get("made_of", ""),
        )
    finally:
        con.close()


def _known(con: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    """The known contents, with all columns whatever the layout."""
    there = {column[0] for column in con.execute("select * from known limit 0").description or ()}
    lacking = [name for name in KNOWN_COLUMNS if name not in there]
    columns = ", ".join(quote_name(name) for name in KNOWN_COLUMNS if name in there)
    rows = con.execute(f"select {columns} from known order by rowid").fetchall()
    return [(*row, *(BEFORE[name] for name in lacking)) for row in rows]


def _flags(con: duckdb.DuckDBPyConnection) -> list[Flag]:
    """The kept history of the flags; none in a snapshot of a layout that had none."""
    if not con.execute("select 1 from duckdb_tables() where table_name = 'flag_history'").fetchall():
        return []
    return [Flag(*row) for row in con.execute(f"select {', '.join(FLAG_COLUMNS)} from flag_history").fetchall()]
