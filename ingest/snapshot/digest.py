"""What tells that a file is still what was written: its length and a digest of its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ingest.models.parts import Part

#: Bytes of a digest: enough that no accident goes unseen.
DIGEST_BYTES = 16


def file_digest(path: Path) -> str:
    """The digest of a file's bytes, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()


def digests(paths: Sequence[Path]) -> list[str]:
    """The digests of several files, read side by side."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(file_digest, paths))


def sealed(root: Path, parts: Sequence[Part]) -> list[Part]:
    """`parts` with size and digest, which are taken of those that lack them."""
    bare = [part for part in parts if not part.digest]
    paths = [root / part.path for part in bare]
    told = {
        part: replace(part, size=path.stat().st_size, digest=digest)
        for part, path, digest in zip(bare, paths, digests(paths), strict=True)
    }
    return [told.get(part, part) for part in parts]


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
