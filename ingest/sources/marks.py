"""Fingerprints of a content, such that another one can be told to be its beginning or its continuation.

All marks are running hashes: each covers everything from the first byte on. So a content is a growth of a known one
if its hash at the known size is the known one, and a shorter copy if its own last mark is among the known marks at the
same place. Marks stand
- behind every chunk: 1 KiB each in the first 256 KiB, 256 KiB each from there on;
- behind every complete line (less its CR and LF) in the first 64 KiB, so that in small files no line goes on trust.
"""

from __future__ import annotations

import hashlib

MARK_BYTES = 8
FINE_BYTES = 64 << 10
SHARED_BYTES = 1024
SMALL_CHUNK, SMALL_UNTIL, LARGE_CHUNK = 1024, 256 << 10, 256 << 10


def digest(data: bytes) -> bytes:
    """SHA-256 of the whole."""
    return hashlib.sha256(data).digest()


def line_marks(fine: bytes) -> bytes:
    """One mark for each complete line of the first bytes of a content."""
    running, marks, start = hashlib.sha256(), [], 0
    while (end := fine.find(b"\n", start)) >= 0:
        bare = end - 1 if end > start and fine[end - 1] == 0x0D else end
        running.update(fine[start:bare])
        marks.append(running.copy().digest()[:MARK_BYTES])
        running.update(fine[bare : end + 1])
        start = end + 1
    return b"".join(marks)


def unended_mark(fine: bytes) -> bytes:
    """The mark that the last line would have, were it complete."""
    return digest(fine.removesuffix(b"\r"))[:MARK_BYTES]


def chunk_bytes(size: int) -> int:
    """Length of the chunk that begins, or goes on, at this size."""
    return SMALL_CHUNK if size < SMALL_UNTIL else LARGE_CHUNK


class Trace:
    """The fingerprint of what was fed so far: `size`, `digest()`, `chunk_marks`, `line_marks()`."""

    def __init__(self) -> None:
        self.size = 0
        self._running = hashlib.sha256()
        self._chunk_marks = bytearray()
        self._fine = bytearray()
        self._last: int | None = None

    @property
    def chunk_marks(self) -> bytes:
        return bytes(self._chunk_marks)

    def digest(self, behind: bytes = b"") -> bytes:
        """Hash of all that was fed, and of `behind` as if it were fed too."""
        if not behind:
            return self._running.digest()
        running = self._running.copy()
        running.update(behind)
        return running.digest()

    @property
    def ends_open(self) -> bool:
        """Whether the last line has no end."""
        return self._last not in (None, 0x0A)

    def line_marks(self) -> bytes:
        return line_marks(bytes(self._fine))

    def feed(self, data: bytes) -> None:
        if self.size < FINE_BYTES:
            self._fine += data[: FINE_BYTES - self.size]
        self._last = data[-1] if data else self._last
        view = memoryview(data)
        while view:
            chunk = chunk_bytes(self.size)
            piece = view[: chunk - self.size % chunk]
            self._running.update(piece)
            self.size += len(piece)
            if self.size % chunk == 0:
                self._chunk_marks += self._running.copy().digest()[:MARK_BYTES]
            view = view[len(piece) :]
