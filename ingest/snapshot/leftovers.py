"""What a writer that failed, or was killed, left behind: drafts, and files of a load that was never published."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from ingest.snapshot.current import CURRENT, SNAPSHOTS, current_path
from ingest.snapshot.sweep import FOLDERS

#: The generation in a file's name: the number of the snapshot that is the first to name it, and a mark of the load.
_GENERATION = re.compile(r"(?:^|-)([0-9]{8})-[0-9a-f]{8}[-.]")


def remove_leftovers(warehouse: Path) -> None:
    """Delete the drafts, the folder `tmp` (raw lines may stand there) and all that a later snapshot was to name.

    No reader ever saw any of it. Only the holder of the writer lock may call it.
    """
    shutil.rmtree(warehouse / "tmp", ignore_errors=True)
    published = _published(warehouse)
    snapshots = [path for path in (warehouse / SNAPSHOTS).glob("*.duckdb") if _number(path.name) > published]
    for draft in (*warehouse.glob(f".{CURRENT}-*"), *(warehouse / SNAPSHOTS).glob(".*"), *snapshots):
        draft.unlink(missing_ok=True)
    for folder in FOLDERS:
        for path in (warehouse / folder).rglob("*.parquet"):
            made = _GENERATION.search(path.name)
            if made and int(made[1]) > published:
                path.unlink(missing_ok=True)


def _published(warehouse: Path) -> int:
    """The number of the published snapshot; where the pointer is lost, of the last one that lies there."""
    current = current_path(warehouse)
    paths = [current] if current else (warehouse / SNAPSHOTS).glob("*.duckdb")
    return max((_number(path.name) for path in paths), default=0)


def _number(name: str) -> int:
    digits = name.lstrip(".").partition("-")[0]
    return int(digits) if digits.isdecimal() else 0
