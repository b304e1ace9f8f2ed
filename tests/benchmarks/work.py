"""What a benchmark runs as a process of its own: `bare FILE OUT` or `ingest FILE WAREHOUSE`."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from ingest.facts.columns import COLUMNS


def bare(file: str, out: str) -> None:
    """The engine's own typed COPY of the file: every column of every relation, read once."""
    columns = {"event": "VARCHAR", "ts": "TIMESTAMP"}
    for relation in COLUMNS.values():
        for name, kind in relation:
            columns.setdefault(name, "VARCHAR" if name in ("outcome", "reason", "kind") else kind)
    typed = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
    duckdb.sql(
        f"copy (select * from read_ndjson('{file}', columns = {{{typed}}}, ignore_errors = true))"
        f" to '{out}' (format parquet, compression zstd)"
    )


def load(file: str, warehouse: str) -> None:
    """A whole ingest: facts, models, publish."""
    from ingest.load import ingest

    report = ingest([file], Path(warehouse))
    if report.refused:
        raise SystemExit(report.refused[0].reason)


if __name__ == "__main__":
    {"bare": bare, "ingest": load}[sys.argv[1]](*sys.argv[2:])
