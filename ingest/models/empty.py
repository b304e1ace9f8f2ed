"""The empty part of every relation: its columns, so that a warehouse without any row of it can still be asked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ingest.facts.columns import COLUMNS
from ingest.models.build import WINDOW_POSTBACKS
from ingest.models.parts import Part, Parts, quote, quote_name
from ingest.models.relations import (
    CUBES,
    CUTS,
    FACTS,
    HOURLY,
    JOINED,
    KEYED,
    PIECES,
    STATES,
    STORED,
    WHOLE,
    WINDOWS,
    model_sql,
)
from ingest.states.columns import columns_sql

OTHERS = {
    "rejects": 'load_id bigint, file varchar, line bigint, "offset" bigint, reason varchar, raw varchar',
    "line_hashes": "hash blob",
    **{relation: columns_sql(relation) for relation in STATES},
}

_MADE: dict[str, bytes] = {}


def write_empty(parts: Parts) -> None:
    """Write an empty part for each relation that has none yet."""
    missing = [relation for relation in STORED if not parts.empty(relation)]
    if not missing:
        return
    folder = parts.root / "models" / "empty"
    folder.mkdir(parents=True, exist_ok=True)
    tmp = parts.root / "tmp"
    tmp.mkdir(exist_ok=True)
    files = _empty_files(tmp)
    for relation in missing:
        path = folder / f"{relation}-{parts.generation}.parquet"
        path.write_bytes(files[relation])
        parts.add(Part(relation, str(path.relative_to(parts.root)), 0, 0, 0))


def _empty_files(tmp: Path) -> Mapping[str, bytes]:
    """What stands in the empty part of each relation: the same in every warehouse, so made once, in `tmp`."""
    if not _MADE:
        with closing(_schema()) as con, TemporaryDirectory(dir=tmp) as folder:
            for relation in STORED:
                con.execute(f"copy {relation} to {quote(f'{folder}/{relation}')} (format parquet)")
            _MADE.update({relation: Path(folder, relation).read_bytes() for relation in STORED})
    return _MADE


def _schema() -> duckdb.DuckDBPyConnection:
    """A connection in which every relation stands empty, made by the models themselves."""
    con = duckdb.connect()
    con.execute(model_sql("functions"))
    for relation in FACTS:
        columns = ", ".join(f"{quote_name(name)} {kind}" for name, kind in COLUMNS[relation])
        con.execute(f"create table {relation} ({columns})")
    for name, columns in OTHERS.items():
        con.execute(f"create table {name} ({columns})")
    con.execute(f"create view window_postbacks as {WINDOW_POSTBACKS} from postbacks")
    con.execute("create table settings (call_span_us bigint, reserve_ms double, notice_us bigint)")
    con.execute("create table evidence (billing bigint)")
    con.execute("create table outcomes (outcome varchar, grp varchar, rnk bigint)")
    keyed = [step for keyed in KEYED for step in keyed.steps]
    cubes = [f"{grain}_{cube.name}" for cube in CUBES for grain in ("minute", "hour")]
    for name in [*HOURLY, *WHOLE, *CUTS, *PIECES, *WINDOWS, *keyed, *JOINED, *cubes]:
        con.execute(f"create table {name} as {model_sql(name)}")
    return con
