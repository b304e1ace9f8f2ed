"""Keep the events of some days only: older facts go, and the models with a row an event; roll-ups stay as they stand.

Days are whole days of UTC before the newest event's. From the first instant that is kept, the *horizon*, everything is
worked out again as ever; before it nothing is. So a line from before it becomes a reject: its hour could not be made
anew without the facts that are gone.

Facts from before the horizon stay while something behind it needs them: an auction or an order that reaches over it,
and what the window of a reference breaker holds. Breaker events stay, for the breakers' whole history is made of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import duckdb

from ingest.facts.columns import COLUMNS
from ingest.facts.store import order_of
from ingest.models.parts import Part, Parts, quote, scan
from ingest.models.relations import CUBES, DAY_US, FACTS, HOURLY, JOINED, KEYED, PIECES, STATES, WINDOWS, Keyed
from ingest.report import FileReport
from ingest.rows.masking import cut
from ingest.settings import Settings

#: Facts that go with age.
AGING = tuple(relation for relation in FACTS if relation != "breaker_events")
#: Models with a row an event, which go with the facts.
PER_EVENT = (*(relation for keyed in KEYED for relation in keyed.stored), *JOINED, *WINDOWS, "repeats")
#: States stay: the next hour goes on from them, and 429s, which are few, have no roll-up.
HISTORY = tuple(relation for relation in STATES if relation not in PER_EVENT)
#: Models that stay, and that cannot be made anew before the horizon.
ROLL_UPS = (*HOURLY, *PIECES, *HISTORY, *(f"{grain}_{cube.name}" for cube in CUBES for grain in ("minute", "hour")))

#: How far ahead of the clock an event may lie and still count as the newest: one wrong clock drops no data.
AHEAD_US = DAY_US

EVENTS = {
    "attempts": "'attempt'",
    "auctions": "'auction'",
    "notices": "kind",
    "breaker_events": "'breaker'",
    "postbacks": "'postback'",
}


def horizon(parts: Iterable[Part], days: int, before_us: int, now_us: int) -> int:
    """The first instant to keep: `days` whole days before the newest event's day; it never goes back.

    An event far ahead of the clock does not count, unless all are.
    """
    newest = [part.hi_us // DAY_US * DAY_US for part in parts if part.relation in FACTS and part.rows]
    if days < 1 or not newest:
        return before_us
    sure = [day for day in newest if day <= now_us + AHEAD_US]
    return max(before_us, max(sure or newest) - days * DAY_US)


def drop_days(parts: Parts, horizon_us: int, settings: Settings) -> int:
    """Take out what lies before `horizon_us`; gives how many rows of facts went."""
    old = {relation: [part for part in parts.of(relation) if part.lo_us < horizon_us] for relation in AGING}
    parts.con.execute("create schema if not exists keep")
    for keyed in KEYED:
        _reaching_over(parts, keyed, old)
    dropped = 0
    for relation, gone in old.items():
        if gone:
            dropped += sum(part.rows for part in gone) - _carry(parts, relation, gone, horizon_us, settings)
    parts.con.execute("drop schema keep cascade")
    for relation in PER_EVENT:
        parts.take_out([part for part in parts.of(relation) if part.unit_us + part.span_us <= horizon_us])
    parts.frozen_us = horizon_us
    return dropped


def _reaching_over(parts: Parts, keyed: Keyed, old: Mapping[str, list[Part]]) -> None:
    """Make `keep.<pass>`: keys that have facts on both sides of the horizon."""
    names = [f"key_{name}" for name in keyed.columns]
    sides: tuple[list[str], list[str]] = ([], [])
    for relation, keys in keyed.keys.items():
        listed = ", ".join(f"{sql} as key_{name}" for name, sql in keys.items())
        fresh = [part for part in parts.of(relation) if part not in old[relation]]
        for side, held in zip(sides, (old[relation], fresh), strict=True):
            rows = scan(parts.root, held or parts.empty(relation))
            side.append(f"select {listed} from {rows} where {keys[keyed.needed]} is not null")
    same = " and ".join(f"fresh.{name} is not distinct from old.{name}" for name in names)
    before, after = (" union all ".join(side) for side in sides)
    parts.con.execute(
        f"create or replace table keep.{keyed.name} as select distinct fresh.* from ({after}) as fresh"
        f" semi join (select distinct * from ({before})) as old on {same}"
    )


def _carry(parts: Parts, relation: str, gone: list[Part], horizon_us: int, settings: Settings) -> int:
    """Let those rows of `gone` that are still needed stand for all of them; gives their number."""
    needed = []
    for keyed in KEYED:
        if keys := keyed.keys.get(relation):
            same = " and ".join(f"{sql} is not distinct from over.key_{name}" for name, sql in keys.items())
            needed.append(f"exists (select 1 from keep.{keyed.name} as over where {same})")
    if relation == "attempts":
        windows = [settings.breaker(partner).window_us for partner in ["", *json.loads(settings.breaker_partners)]]
        needed.append(f"epoch_us(ts) >= {horizon_us - max(windows)}")
    path = parts.root / "facts" / relation / f"carried-{parts.generation}.parquet"
    found = parts.con.execute(
        f"copy (select * from {scan(parts.root, gone)} where {' or '.join(needed)} order by {order_of(relation)})"
        f" to {quote(str(path))} (format parquet, compression zstd)"
    ).fetchone()
    rows = int(found[0]) if found else 0
    lo = min(part.lo_us for part in gone)
    parts.take_out(gone)
    if rows:
        parts.add(Part(relation, str(path.relative_to(parts.root)), rows, lo, horizon_us - 1))
    else:
        path.unlink()
    return rows


def reject_old(con: duckdb.DuckDBPyConnection, report: FileReport, horizon_us: int) -> None:
    """Turn staged lines of a file with an event from before `horizon_us` into rejects, and count them so."""
    told = []
    for relation, columns in COLUMNS.items():
        fields = ", ".join(f'"{name}" := "{name}"' for name, _ in columns)
        row = f"struct_pack(event := {EVENTS[relation]}, {fields})"
        told.append(
            f"select line_no, json_merge_patch('{{}}', to_json({row}))::varchar as raw from stage_{relation}"
            f" where file_no = {report.number} and epoch_us(ts) < {horizon_us}"
        )
    found = con.execute(f"select line_no, min(raw) from ({' union all '.join(told)}) group by 1 order by 1").fetchall()
    if not found:
        return
    con.execute("create or replace temp table old_lines (line_no bigint, raw varchar)")
    con.executemany("insert into old_lines values (?, ?)", [(line, cut(raw)) for line, raw in found])
    day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=horizon_us)
    con.execute(
        "insert into stage_rejects select ?, line_no, null, ?, raw from old_lines",
        [report.number, f"older than the days kept, which begin on {day:%Y-%m-%d}"],
    )
    staged = [f"stage_{relation}" for relation in COLUMNS] + ["stage_mended", "stage_hashes"]
    known = {name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()}
    for table in known.intersection(staged):
        con.execute(
            f"delete from {table} where file_no = {report.number} and line_no in (select line_no from old_lines)"
        )
    report.facts -= len(found)
    report.rejects += len(found)
    report.mended.clear()
    report.mended.update(
        dict(
            con.execute(
                "select key, count(*) from stage_mended where file_no = ? group by key", [report.number]
            ).fetchall()
        )
    )
