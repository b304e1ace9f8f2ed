"""Check a warehouse: its files are those that were written, every line is accounted for, models agree with the facts.

Every fault is one line: where it is, what is wrong and what to do. Models can be made again from the facts; facts, and
roll-ups whose facts are gone, can only be restored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from ingest.errors import InputError, NewerVersion
from ingest.keep import ROLL_UPS
from ingest.models.parts import Part, quote, scan
from ingest.models.relations import CUBES, FACTS, HOUR_US, STORED, model_sql
from ingest.snapshot.current import CURRENT, SCHEMA_VERSION, SNAPSHOTS, State, current_path, read_state
from ingest.snapshot.digest import damaged, file_digest

RESTORE = "restore it from a backup, or load the logs into a new warehouse"
REBUILD = "run `retrylens rebuild`"
LOADED_WRONG = "load the logs into a new warehouse, and report it"

#: What a cube counts, and the rows of which selects of an hour_us it comes from (None: of no single rows).
COUNTED: dict[str, tuple[str, str | None]] = {
    "attempts": ("attempts", "select {hour:epoch_us(ts)} from attempts"),
    "calls": ("calls", "select {hour:call_us} from calls union all select {hour:call_us} from orders"),
    "retries": ("retries", "select {hour:call_us} from retries union all select {hour:call_us} from order_retries"),
    "budgets": ("retries", "select {hour:call_us} from retries"),
    "rescues": ("wins", None),
    "notices": ("deliveries", "select {hour:us} from deliveries"),
    "auctions": ("auctions", "select {hour:us} from auction_stages"),
    "converted": ("auctions", "select {hour:us} from converted"),
    "postbacks": ("postbacks", "select {hour:us} from postback_results"),
    "audit": ("checked", None),
    "chains": ("retries", None),
    "ends": ("calls", "select {hour:call_us} from chain_ends"),
    "waits": ("limited", "select {hour:us} from throttles"),
    "wasted": ("wasted", "select {hour:us} from wasted_requests"),
}

#: Models with one row for each of the facts of a relation.
ROW_BY_ROW = {"deliveries": "notices", "postback_results": "postbacks"}


def verify(warehouse: Path) -> list[str]:
    """One sentence a fault; empty when all is sound.

    Raises InputError where there is nothing to check, NewerVersion where a newer RetryLens would have to.
    """
    path = current_path(warehouse)
    if path is None:
        if any((warehouse / SNAPSHOTS).glob("*.duckdb")):
            return [f"{warehouse / CURRENT}: missing; {_pointed(warehouse)}"]
        raise InputError(f"{warehouse}: nothing was loaded into it yet; run `retrylens ingest`")
    if faults := _snapshot(warehouse, path):
        _refuse_newer(warehouse)
        return faults
    state = read_state(warehouse)
    if state.version < SCHEMA_VERSION:
        return [f"{path}: its models are of an older version; {REBUILD}, which keeps the data"]
    wrong = damaged(warehouse, state.parts)
    faults = [f"{part.path}: {fault}; {_remedy(part, state)}" for part, fault in wrong]
    gone = {part.relation for part, _ in wrong}
    faults += [f"{path}: names no file of {name}; {REBUILD}" for name in STORED if name not in _relations(state)]
    con = duckdb.connect()
    try:
        con.execute("set TimeZone = 'UTC'")
        con.execute(f"attach {quote(str(path))} as snapshot (read_only)")
        faults += _rows(con, warehouse, [part for part in state.parts if part.relation not in gone], state)
        faults += _loads(con, warehouse, state, gone)
        faults += _sums(con, warehouse, state, gone)
    finally:
        con.close()
    return faults


def _refuse_newer(warehouse: Path) -> None:
    """Raise NewerVersion for the snapshot of one, whose marks are not known here."""
    try:
        read_state(warehouse)
    except NewerVersion:
        raise
    except (InputError, duckdb.Error):
        return


def _snapshot(warehouse: Path, path: Path) -> list[str]:
    """Whether the file that CURRENT names is there and as it was written."""
    if not path.is_file():
        return [f"{warehouse / CURRENT}: names {path.name or 'nothing'}, which is not there; {_pointed(warehouse)}"]
    if not _is_whole(path):
        return [f"{path}: its bytes are not those that were written; {_pointed(warehouse, path)}"]
    try:
        con = duckdb.connect(str(path), read_only=True)
        con.execute("select * from files")
        con.close()
    except duckdb.Error as error:
        return [f"{path}: cannot be read ({str(error).splitlines()[0]}); {_pointed(warehouse, path)}"]
    return []


def _is_whole(path: Path) -> bool:
    """Whether a snapshot is what was written: its name ends in the digest of its bytes."""
    told = path.stem.partition("-")[2]
    return len(told) < 32 or file_digest(path) == told


def _pointed(warehouse: Path, wrong: Path | None = None) -> str:
    """What to do about a snapshot that cannot be used: the one before it may still stand."""
    for path in sorted((warehouse / SNAPSHOTS).glob("*.duckdb"), reverse=True):
        with suppress(OSError):
            if path != wrong and _is_whole(path):
                return (
                    f"restore it from a backup, or write {path.name} into {CURRENT} and load the logs again: what came"
                    " after that snapshot is loaded then"
                )
    return RESTORE


def _relations(state: State) -> set[str]:
    return {part.relation for part in state.parts}


def _remedy(part: Part, state: State) -> str:
    if part.relation in (*FACTS, "rejects", "line_hashes") and part.rows:
        return RESTORE
    if part.relation in ROLL_UPS and part.rows and part.unit_us + part.span_us <= state.facts_from_us:
        return "restore it from a backup: the facts of its time are gone, so that no rebuild makes it again"
    return REBUILD


def _rows(con: duckdb.DuckDBPyConnection, warehouse: Path, parts: list[Part], state: State) -> Iterator[str]:
    """Parts that hold another number of rows than the snapshot says."""
    listed = ", ".join(quote(str(warehouse / part.path)) for part in parts)
    rows = dict(con.execute(f"select file_name, num_rows from parquet_file_metadata([{listed}])").fetchall())
    for part in parts:
        found = rows.get(str(warehouse / part.path))
        if found != part.rows:
            yield f"{part.path}: {found} rows, {part.rows} expected; {_remedy(part, state)}"


def _loads(con: duckdb.DuckDBPyConnection, warehouse: Path, state: State, gone: set[str]) -> Iterator[str]:
    """Lines that are accounted for nowhere."""
    for load_id, file in con.execute(
        "select load_id, file from snapshot.loads where lines <> facts + rejects + blank + repeated order by load_id"
    ).fetchall():
        yield f"load {load_id} of {file}: its lines are not the sum of their kinds; {LOADED_WRONG}"
    rejects = [part for part in state.parts if part.relation == "rejects"]
    if "rejects" not in gone:
        for load_id, file, told, kept in con.execute(
            "select load_id, loads.file, coalesce(loads.rejects, 0), coalesce(found.n, 0)"
            " from snapshot.loads as loads full join"
            f" (select load_id, count(*) as n from {scan(warehouse, rejects)} group by load_id) as found"
            " using (load_id) where coalesce(loads.rejects, 0) <> coalesce(found.n, 0) order by load_id"
        ).fetchall():
            yield f"load {load_id} of {file}: {told} rejects were counted and {kept} are kept; {RESTORE}"
    held = sum(part.rows for part in state.parts if part.relation in FACTS)
    lines = int(con.execute("select coalesce(sum(facts), 0) from snapshot.loads").fetchall()[0][0])
    if held + state.dropped_rows != state.fact_rows:
        yield (
            f"{warehouse}: {state.fact_rows} rows of facts were written, {held} are kept and {state.dropped_rows} went"
            f" with age; {RESTORE}"
        )
    if state.fact_rows < lines:
        yield f"{warehouse}: {lines} lines became facts, of which {state.fact_rows} rows were written; {LOADED_WRONG}"


def _sums(con: duckdb.DuckDBPyConnection, warehouse: Path, state: State, gone: set[str]) -> Iterator[str]:
    """The first hour of each cube in which minutes, hours and single rows do not count the same."""
    con.execute(model_sql("functions"))
    for relation in _relations(state) - gone:
        parts = [part for part in state.parts if part.relation == relation]
        con.execute(f"create view {relation} as select * from {scan(warehouse, parts)}")
    since = state.facts_from_us
    for name, (column, rows) in COUNTED.items():
        minutes, hours = f"minute_{name}", f"hour_{name}"
        by_hour = f"select hour_us, sum({column})::bigint from {hours} group by 1"
        by_minute = f"select minute_us // {HOUR_US} * {HOUR_US}, sum({column})::bigint from {minutes} group by 1"
        if not {minutes, hours} & gone:
            yield from _differing(con, (minutes, by_minute), (hours, by_hour), 0)
        bases = {base for cube in CUBES if cube.name == name for base in cube.bases}
        if rows and not (bases | {hours}) & gone:
            yield from _differing(con, (", ".join(sorted(bases)), _counted(rows)), (hours, by_hour), since)
    for model, facts in ROW_BY_ROW.items():
        if not {model, facts} & gone:
            of_facts = _counted(f"select {{hour:epoch_us(ts)}} from {facts}")
            yield from _differing(con, (facts, of_facts), (model, _counted(f"select {{hour:us}} from {model}")), since)


def _counted(rows: str) -> str:
    """A select of the number of `rows` by hour; `{hour:US}` in it stands for the hour of US."""
    placed = rows.replace("{hour:", "(").replace("}", f") // {HOUR_US} * {HOUR_US} as hour_us")
    return f"select hour_us, count(*) from ({placed}) group by 1"


def _differing(
    con: duckdb.DuckDBPyConnection, one: tuple[str, str], other: tuple[str, str], since_us: int
) -> Iterator[str]:
    """The first hour from `since_us` on in which two counts by hour, each with its name, are not the same."""
    found = con.execute(
        "select hour_us, coalesce(one.n, 0), coalesce(other.n, 0), count(*) over () from"
        f" ({one[1]}) as one (hour_us, n) full join ({other[1]}) as other (hour_us, n) using (hour_us)"
        f" where coalesce(one.n, 0) <> coalesce(other.n, 0) and hour_us >= {since_us} order by hour_us limit 1"
    ).fetchone()
    if found:
        hour = datetime.fromtimestamp(found[0] / 1_000_000, UTC)
        yield (
            f"{other[0]}: counts {found[2]} in the hour of {hour:%Y-%m-%d %H:%M}Z where {one[0]} counts {found[1]}"
            f" ({found[3]} such hours); {REBUILD}"
        )
