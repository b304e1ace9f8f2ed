"""What a benchmark runs as a process of its own: `bare FILE OUT`, `ingest FILE WAREHOUSE` or `steps FILE WAREHOUSE`.

FILE may be `-` for an ingest. `steps` is an ingest too, and prints what its models and its publish took, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

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


def steps(file: str, warehouse: str) -> None:
    """A whole ingest, whose models and publish are timed where the load calls them; with the CPU of the process."""
    from ingest import run as loading
    from ingest.models.build import Build

    took: dict[str, float] = {}

    def timed(name: str, work: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*args, **named)
            finally:
                took[name] = took.get(name, 0.0) + time.perf_counter() - began

        return call

    loading.publish = timed("publish_s", loading.publish)
    Build.run = timed("models_s", Build.run)  # type: ignore[method-assign]
    timed("whole_s", load)(file, warehouse)
    print(json.dumps(took | {"cpu_s": time.process_time()}))


if __name__ == "__main__":
    {"bare": bare, "ingest": load, "steps": steps}[sys.argv[1]](*sys.argv[2:])
