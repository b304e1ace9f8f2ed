"""What tells that a file is still what was written: its length and a digest of its bytes. And that it lasts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ingest.models.parts import Part

#: Bytes of a digest: enough that no accident goes unseen.
DIGEST_BYTES = 16
#: A disk takes many waits at the price of a few.
SYNCED_AT_ONCE = 16


def file_digest(path: Path) -> str:
    """The digest of a file's bytes, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()


def sealed(root: Path, parts: Sequence[Part]) -> list[Part]:
    """`parts` with size and digest, which are taken of those that lack them."""
    bare = [part for part in parts if not part.digest]
    paths = [root / part.path for part in bare]
    with ThreadPoolExecutor(max_workers=2) as pool:
        sums = list(pool.map(_sums, paths))
    told = {part: replace(part, size=size, digest=digest) for part, (size, digest) in zip(bare, sums, strict=True)}
    return [told.get(part, part) for part in parts]


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, stand on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def settle(root: Path, paths: Sequence[Path]) -> Callable[[], None]:
    """Begin to bring files below `root` to the disk, and the folders that name them; the answer waits for the end.

    Only then may a snapshot name them: they outlast a loss of power. It goes on beside what the caller does meanwhile.
    """
    inner = {path.parent for path in paths}
    folders = inner | {folder for path in inner for folder in path.parents if folder.is_relative_to(root)}
    pool = ThreadPoolExecutor(max_workers=SYNCED_AT_ONCE)
    synced = [pool.submit(sync, path) for path in (*paths, *folders)]
    pool.shutdown(wait=False)

    def wait() -> None:
        for one in synced:
            one.result()

    return wait


def _sums(path: Path) -> tuple[int, str]:
    return path.stat().st_size, file_digest(path)


def damaged(root: Path, parts: Sequence[Part]) -> list[tuple[Part, str]]:
    """Those of `parts` whose file is not what was written, each with what is wrong with it."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        told = pool.map(lambda part: _fault(root / part.path, part), parts)
        return [(part, fault) for part, fault in zip(parts, told, strict=True) if fault]


def _fault(path: Path, part: Part) -> str | None:
    try:
        size = path.stat().st_size
        if part.digest and size != part.size:
            return f"{size} bytes, {part.size} were written"
        if part.digest and file_digest(path) != part.digest:
            return "its bytes are not those that were written"
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None
