"""From the paths of the command line to the files to read."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.errors import InputError

STDIN = "-"
# How writers and copiers name a file that they have not finished.
UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".download", ".inprogress", ".swp", "~")

# What the simulator leaves beside its logs: an account of them, no log.
NO_LOGS = ("truth.json",)


@dataclass(frozen=True)
class Found:
    """One input: `name` is how it is shown (bytes that are no UTF-8 written out), `path` is None for standard input."""

    name: str
    path: Path | None


def discover(paths: Sequence[str], outside: Collection[Path] = (), *, absent: bool = False) -> list[Found]:
    """The files that the paths name, each real file once, folders in sorted order.

    A folder is walked with its sub-folders (not through links to folders). Hidden names, those of unfinished copies
    and the simulator's truth.json are skipped there, and so is everything below the folders `outside` (the warehouse
    itself). A pattern is expanded only where no file has it as its name. A folder that cannot be listed is returned
    as an input, so that its reading is refused with the reason. InputError: a path or a pattern that names nothing
    (with `absent` that gives no file).
    """
    barred = {os.path.realpath(path) for path in outside}
    found: dict[str, Found] = {}
    for given in paths:
        if given == STDIN:
            found.setdefault(STDIN, Found(STDIN, None))
            continue
        for name in _expand(given, barred, absent):
            found.setdefault(os.path.realpath(name), Found(_shown(name), Path(name)))
    return list(found.values())


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _expand(given: str, barred: Collection[str], absent: bool) -> Iterator[str]:
    if os.path.lexists(given):
        yield from _files(given, barred)
        return
    if not glob.has_magic(given):
        if _may_exist(given):
            yield given
            return
        if absent:
            return
        raise InputError(f"{given}: no such file or folder; check the path")
    matches = sorted(glob.glob(given, recursive=True))
    if not matches and not absent:
        raise InputError(f"{given}: no file matches this pattern; check it, and quote it from the shell")
    for match in matches:
        yield from _files(match, barred)


def _may_exist(path: str) -> bool:
    """Whether it is there, or lies in a folder that we may not enter."""
    try:
        os.stat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def _files(path: str, barred: Collection[str]) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    unlisted: list[str] = []
    for folder, folders, names in os.walk(path, onerror=lambda error: unlisted.append(str(error.filename))):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and os.path.realpath(os.path.join(folder, name)) not in barred
        )
        if os.path.realpath(folder) in barred:
            folders.clear()
            continue
        for name in sorted(names):
            inner = os.path.join(folder, name)
            if name.startswith(".") or name.endswith(UNFINISHED) or name in NO_LOGS:
                continue
            if os.path.isfile(inner):
                yield inner
    yield from unlisted
