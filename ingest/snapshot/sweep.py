"""Remove what no snapshot needs any more: files of crashed loads, and those that only older snapshots name."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb

from ingest.models.parts import Part
from ingest.snapshot.current import CURRENT, SNAPSHOTS, State

#: Folders that a warehouse's parts live in.
FOLDERS = ("facts", "models", "rejects", "line_hashes")


def sweep(warehouse: Path, current: Path, parts: Sequence[Part], before: State, grace_s: float) -> list[Path]:
    """Delete drafts of crashed loads, and files that no snapshot of the last two (`current` has `parts`) names.

    `before` is the state that `current` followed. Files stay until `grace_s` have passed since they were last named,
    or made. Only the holder of the writer lock may call it. Gives the deleted files.
    """
    shutil.rmtree(warehouse / "tmp", ignore_errors=True)
    for draft in (*warehouse.glob(f".{CURRENT}-*"), *(warehouse / SNAPSHOTS).glob(".*")):
        draft.unlink(missing_ok=True)
    until = time.time() - grace_s
    needed = {warehouse / part.path for part in parts}
    last_two = {current}
    for path in sorted((warehouse / SNAPSHOTS).glob("*.duckdb"), reverse=True):
        if path.name < current.name and (named := _named(path, before)) is not None:
            last_two.add(path)
            needed |= {warehouse / name for name in named}
            break
    stale = [path for path in (warehouse / SNAPSHOTS).iterdir() if path not in last_two]
    for folder in FOLDERS:
        stale += [path for path in (warehouse / folder).rglob("*.parquet") if path not in needed]
    gone = [path for path in stale if _older(path, until)]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


def _named(snapshot: Path, before: State) -> list[str] | None:
    """Paths of the parts that a snapshot names; None where it cannot be read."""
    if snapshot == before.path:
        return [part.path for part in before.parts]
    try:
        con = duckdb.connect(str(snapshot), read_only=True)
    except duckdb.Error:
        return None
    try:
        return [row[0] for row in con.execute("select path from files").fetchall()]
    finally:
        con.close()


def _older(path: Path, until: float) -> bool:
    try:
        return path.stat().st_mtime < until
    except FileNotFoundError:
        return False
