"""Tries a format on the beginning of a file: what rows come of it, what stays unknown, and why lines are rejected."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ingest.errors import InputError, Refused
from ingest.facts.columns import COLUMNS
from ingest.formats.registry import fit, list_formats, open_as
from ingest.formats.spec import AnyFormat, Format
from ingest.rows.cells import whole_records
from ingest.rows.loader import Counts, RowLoader
from ingest.rows.raw import whole_documents
from ingest.sources import Found, last_line_end
from ingest.sources.decode import open_decoded

#: Of a file this much is tried.
TRIED_BYTES = 1 << 20


@dataclass(frozen=True)
class Refusal:
    """A reason of rejects: how many lines have it, the first of them, and what is kept of that."""

    reason: str
    lines: int
    first_line: int
    raw: str


@dataclass
class Trial:
    """What became of the first lines of a file.

    `fits`: the formats that recognise it. `rows`: of each relation the first ones, without what is NULL in them.
    `unknown`: of each relation with rows the columns that no row fills.
    """

    fits: list[str]
    counts: Counts
    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)


def try_format(fmt: AnyFormat, path: Path, *, zone: str | None = None, first: int = 5) -> Trial:
    """Reads the first megabyte of `path` as `fmt`, and keeps nothing. Raises InputError."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise InputError(f"{path}: {what}; name a log to try the format on")
    try:
        data = _head(path)
        state = open_as(fmt, data)
    except Refused as refused:
        raise InputError(f"{path}: {refused.reason}; choose another file to try the format on") from None
    cut = {"csv": whole_records, "document": whole_documents}.get(state.split, last_line_end)
    whole = data[: cut(data)] if len(data) == TRIED_BYTES else data
    if not data.strip():
        raise InputError(f"{path}: is empty; choose another file to try the format on")
    if not whole:
        raise InputError(f"{path}: its first record has more than {TRIED_BYTES} bytes; choose another file")
    others = [known for known in list_formats() if known.name != fmt.name]
    fits = [known.name for known in (fmt, *others) if fit(known, data) is not None]
    trial = Trial(fits, Counts())
    with tempfile.TemporaryDirectory() as folder:
        from ingest.engine import engine

        con = engine(Path(folder))
        try:
            loader = RowLoader(con, zone=zone)
            header = state.header_bytes
            first_line = 2 if header else 1
            trial.counts = loader.load_lines(
                fmt, whole[header:], file_no=0, first_line=first_line, offset=header, state=state
            )
            for relation, columns in COLUMNS.items():
                _show(con, trial, relation, [name for name, _ in columns], first)
            found = con.execute(
                "select reason, count(*), min(line), arg_min(raw, line) from stage_rejects"
                " group by reason order by 2 desc, 3"
            ).fetchall()
            trial.refusals = [Refusal(*row) for row in found]
        finally:
            con.close()
    return trial


def _head(path: Path) -> bytes:
    with closing(open_decoded(Found(str(path), path))) as decoded:
        return decoded.read(TRIED_BYTES)


def _show(con: duckdb.DuckDBPyConnection, trial: Trial, relation: str, columns: list[str], first: int) -> None:
    listed = ", ".join(f'"{name}"' for name in columns)
    rows = con.execute(f"select {listed} from stage_{relation} order by line_no, ts limit {first}").fetchall()
    if not rows:
        return
    trial.rows[relation] = [
        {name: value for name, value in zip(columns, row, strict=True) if value is not None} for row in rows
    ]
    filled = ", ".join(f'count("{name}")' for name in columns)
    counts = con.execute(f"select {filled} from stage_{relation}").fetchone() or ()
    trial.unknown[relation] = [name for name, count in zip(columns, counts, strict=True) if not count]


def carried(fmt: AnyFormat) -> dict[str, list[str]]:
    """Relation -> the canonical columns that the format can fill."""
    if isinstance(fmt, Format):
        return {
            relation.name: [item.column for item in relation.fields if item.type != "ignored"]
            for relation in fmt.relations
        }
    found: dict[str, list[str]] = {}
    for part in fmt.rows:
        relation = fmt.canonical.by_event[part.event]
        names = found.setdefault(relation.name, [])
        facts = [name for name, _ in COLUMNS[relation.name]]
        mapped = [item.column for item in relation.fields if item.key in part.columns]
        names += [name for name in mapped if name in facts and name not in names]
    return found
