"""Publish a snapshot: a new DuckDB file beside the last one, then one rename that every reader sees whole.

The file holds the small tables (loads, metrics, codes, settings) and, for guests with a DuckDB shell, views over the
exact Parquet files. Its name ends in the digest of its content, and it keeps the digest of every Parquet file. A crash
before the rename leaves the last snapshot as it was.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ingest.models.parts import Part
from ingest.snapshot.content import Publication, write_content
from ingest.snapshot.current import CURRENT, SNAPSHOTS, State
from ingest.snapshot.digest import file_digest, sealed, settle, sync


def publish(warehouse: Path, state: State, parts: Sequence[Part], new: Publication) -> Path:
    """Write the snapshot after `state` and point CURRENT at it; gives its path. `new.loads` are added to the old."""
    folder = warehouse / SNAPSHOTS
    folder.mkdir(parents=True, exist_ok=True)
    number = state.generation + 1
    settled = settle(warehouse, [warehouse / part.path for part in parts if not part.digest])
    parts = sealed(warehouse, parts)
    draft = folder / f".{number:08d}-{os.getpid()}.duckdb"
    draft.unlink(missing_ok=True)
    try:
        write_content(draft, warehouse, state, parts, new)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync(draft)
    name = f"{number:08d}-{file_digest(draft)}.duckdb"
    final = folder / name
    draft.rename(final)
    settled()
    sync(folder)
    _retire(warehouse, state, parts)
    pointer = warehouse / f".{CURRENT}-{os.getpid()}"
    pointer.write_text(name + "\n", encoding="utf-8")
    sync(pointer)
    pointer.replace(warehouse / CURRENT)
    sync(warehouse)
    return final


def _retire(warehouse: Path, state: State, parts: Sequence[Part]) -> None:
    """Let files that are not named any more bear the time since when they are not: sweeping goes by it."""
    named = {part.path for part in parts}
    gone = [warehouse / part.path for part in state.parts if part.path not in named]
    for path in (*gone, *([state.path] if state.path else [])):
        with suppress(OSError):
            os.utime(path)
