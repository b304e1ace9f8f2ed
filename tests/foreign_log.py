"""Logs of foreign formats, read line by line: every one by the engine and by the definition, which must agree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from ingest.facts.columns import COLUMNS
from ingest.formats import registry
from ingest.formats.registry import guess, load_format, open_as
from ingest.rows.loader import Counts, RowLoader

Row = dict[str, Any]
ALWAYS, NEVER = 0, 1 << 60
FOLDER = Path(registry.__file__).parent


@dataclass(frozen=True)
class Loaded:
    """What became of a log: its counts, the rows of each relation and the rejects, by line."""

    counts: Counts
    rows: dict[str, list[Row]]
    rejects: list[Row]

    @property
    def only(self) -> Row:
        """The one row that there is."""
        ((row,),) = [rows for rows in self.rows.values() if rows]
        return row

    @property
    def reasons(self) -> list[str]:
        return [reject["reason"] for reject in self.rejects]

    def kept(self) -> str:
        """All that is stored, as one text."""
        return repr((self.rows, self.rejects))


@cache
def _loader(zone: str | None, engine_from: int) -> tuple[RowLoader, duckdb.DuckDBPyConnection]:
    con = duckdb.connect()
    return RowLoader(con, zone=zone, engine_from=engine_from), con


def read(name: str, log: str | bytes, zone: str | None = None) -> Loaded:
    """The log as the format of this name, times without an offset in `zone`."""
    by_engine, by_definition = (_read(name, log, zone, engine_from) for engine_from in (ALWAYS, NEVER))
    assert by_engine == by_definition
    counts = by_engine.counts
    assert counts.lines == counts.facts + counts.rejects + counts.blank
    return by_engine


def read_by_engine(name: str, log: str | bytes, zone: str | None = None) -> Loaded:
    """As `read`, by the engine and what it leaves to the definition."""
    return _read(name, log, zone, ALWAYS)


def _read(name: str, log: str | bytes, zone: str | None, engine_from: int) -> Loaded:
    data = log.encode() if isinstance(log, str) else log
    fmt = load_format(name)
    state = open_as(fmt, data)
    start = state.header_bytes
    loader, con = _loader(zone, engine_from)
    try:
        counts = loader.load_lines(fmt, data[start:], file_no=1, first_line=1, offset=start, state=state)
        rows = {relation: _table(con, f"stage_{relation}", "line_no") for relation in COLUMNS}
        return Loaded(counts, rows, _table(con, "stage_rejects", "line"))
    finally:
        loader.forget(1)


def _table(con: duckdb.DuckDBPyConnection, name: str, order: str) -> list[Row]:
    result = con.execute(f"select * from {name}")
    names = [column[0] for column in result.description or ()]
    rows = [dict(zip(names, values, strict=True)) for values in result.fetchall()]
    return sorted(rows, key=lambda row: (row[order], str(row)))


def guide_sample(name: str) -> str:
    """The log that the format's guide shows; tabs are arrows there."""
    guide = FOLDER.joinpath("guides", f"{name}.md").read_text(encoding="utf-8")
    found = re.search(r"```log\n(.*?)```", guide, re.DOTALL)
    assert found is not None, f"{name}.md shows no log"
    return found[1].replace("→", "\t")


def guessed(log: str) -> str:
    """The name of the one format that fits the log."""
    found = guess(log.encode())
    assert found is not None
    return found[0].name
