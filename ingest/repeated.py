"""Drop from the staged facts what was delivered before: by `event_id`, or with --dedup by the bytes of the line."""

from __future__ import annotations

from collections import Counter

import duckdb

from ingest.models.parts import Parts, scan
from ingest.models.relations import FACTS

#: What makes an event id unique within its relation: the event's kind, where a relation holds several.
KINDS = {"notices": "kind"}


def drop_repeated_ids(parts: Parts, days: int) -> Counter[int]:
    """Delete staged facts whose `event_id` stays with another fact within `days`; gives lines dropped by file number.

    Facts of earlier loads stay before any, and then the first in the order of files and lines: a line is compared
    with those that stay, never with one that was itself dropped.
    """
    dropped: Counter[int] = Counter()
    span = days * 86_400_000_000
    for relation in FACTS:
        con, kind = parts.con, KINDS.get(relation, "''")
        if not _any(con, f"select 1 from stage_{relation} where event_id is not null limit 1"):
            continue
        if old := parts.of(relation):
            dropped += _delete(
                con,
                relation,
                f"select stage.file_no, stage.line_no from stage_{relation} as stage semi join"
                f" (select {kind} as kind, event_id, epoch_us(ts) as us from {scan(parts.root, old)}"
                f" where event_id is not null) as seen on seen.event_id = stage.event_id and seen.kind = {_of(kind)}"
                f" and abs(seen.us - epoch_us(stage.ts)) <= {span}",
            )
        dropped += _drop_among_staged(con, relation, kind, span)
    return dropped


def mended_by_file(con: duckdb.DuckDBPyConnection) -> dict[int, Counter[str]]:
    """Values that did not cast, by file number and input key, of the lines whose facts stay."""
    staying = " union ".join(f"select file_no, line_no from stage_{relation}" for relation in FACTS)
    found: dict[int, Counter[str]] = {}
    for file_no, key, count in con.execute(
        f"select file_no, key, count(*) from stage_mended semi join ({staying}) as staying"
        " using (file_no, line_no) group by file_no, key"
    ).fetchall():
        found.setdefault(file_no, Counter())[key] = count
    return found


def _drop_among_staged(con: duckdb.DuckDBPyConnection, relation: str, kind: str, span: int) -> Counter[int]:
    """Of the staged lines with one event id, keep the first and drop what is near it, until none is undecided."""
    con.execute(
        "create or replace temp table id_lines as select *, row_number() over (partition by kind, event_id"
        f" order by file_no, line_no) as rn from (select {kind} as kind, event_id, file_no, line_no,"
        f" min(epoch_us(ts)) as us from stage_{relation} where event_id is not null group by all)"
        " qualify count(*) over (partition by kind, event_id) > 1"
    )
    dropped: Counter[int] = Counter()
    same = "undecided.kind = kept.kind and undecided.event_id = kept.event_id"
    near = f"{same} and abs(undecided.us - kept.us) <= {span}"
    while _any(con, "select 1 from id_lines limit 1"):
        con.execute(
            "create or replace temp table id_kept as select * from id_lines"
            " qualify row_number() over (partition by kind, event_id order by rn) = 1"
        )
        dropped += _delete(
            con,
            relation,
            "select undecided.file_no, undecided.line_no from id_lines as undecided inner join id_kept as kept"
            f" on {near} and undecided.rn > kept.rn",
        )
        con.execute(f"delete from id_lines as undecided using id_kept as kept where {near}")
    return dropped


def drop_repeated_lines(parts: Parts) -> Counter[int]:
    """Delete staged facts whose line's bytes were seen before by a load with --dedup, or earlier in this one.

    Needs `stage_hashes`; leaves in it the hashes of the lines that stay, for the next load to compare with.
    """
    con = parts.con
    seen = ""
    if old := parts.of("line_hashes"):
        seen = (
            f" union select stage.file_no, stage.line_no from stage_hashes as stage"
            f" semi join {scan(parts.root, old)} as seen on seen.hash = stage.hash"
        )
    con.execute(
        "create or replace table repeated_lines as select file_no, line_no from (select file_no, line_no,"
        " row_number() over (partition by hash order by file_no, line_no) as rn from stage_hashes) where rn > 1" + seen
    )
    dropped: Counter[int] = Counter()
    for relation in FACTS:
        dropped += _delete(con, relation, "select file_no, line_no from repeated_lines")
    con.execute(
        "delete from stage_hashes where exists (select 1 from repeated_lines as r"
        " where r.file_no = stage_hashes.file_no and r.line_no = stage_hashes.line_no)"
    )
    return dropped


def _delete(con: duckdb.DuckDBPyConnection, relation: str, lines: str) -> Counter[int]:
    gone = con.execute(
        f"delete from stage_{relation} where exists (select 1 from ({lines}) as r where r.file_no ="
        f" stage_{relation}.file_no and r.line_no = stage_{relation}.line_no) returning file_no, line_no"
    ).fetchall()
    return Counter(file_no for file_no, _ in set(gone))


def _of(kind: str) -> str:
    return kind if kind == "''" else f"stage.{kind}"


def _any(con: duckdb.DuckDBPyConnection, sql: str) -> bool:
    return con.execute(sql).fetchone() is not None
