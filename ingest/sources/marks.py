"""Fingerprints of a content, such that another one can be told to be its beginning or its continuation.

The first 256 KiB are hashed as one; from there on every 256 KiB are a chunk, and each chunk's hash is chained to what
was before it: so the digest of a whole covers everything from the first byte on, it can be gone on with from the 32
bytes of the chain, and a single chunk can be looked at alone. A content is a growth of a known one if its digest at the
known size is the known one, and a shorter copy if its own marks are the first of the known ones. Marks stand
- behind every KiB of the first 256 KiB: a running hash of all before it; then behind every chunk: that chunk's hash;
- behind every complete line (less its CR and LF) in the first 64 KiB, so that in small files no line goes on trust.

Warehouses of the first two layouts know their contents by one running hash all along (`PLAIN`): up to 256 KiB that is
the same.
"""

from __future__ import annotations

import hashlib

MARK_BYTES = 8
FINE_BYTES = 64 << 10
SHARED_BYTES = 1024
SMALL_CHUNK, CHUNK = 1024, 256 << 10
#: Schemes of digests and marks, as stored.
PLAIN, CHAINED = 1, 2


def digest(data: bytes) -> bytes:
    """SHA-256 of the whole; the digest of a content up to `CHUNK` bytes."""
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


class Trace:
    """The fingerprint of what was fed so far: `size`, `digest()`, `chunk_marks`, `line_marks()`.

    `chain` is the digest at the last whole chunk, empty in the first. With `plain` it keeps that of the scheme PLAIN
    as well, until `leave_plain`.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self.size = 0
        self.chain = b""
        self._piece = hashlib.sha256()
        self._marks = bytearray()
        self._fine = bytearray()
        self._last: int | None = None
        self._plain = hashlib.sha256() if plain else None
        self._plain_marks = bytearray()

    @classmethod
    def taken_up(cls, fine: bytes, marks: bytes, chain: bytes, rest: bytes) -> Trace:
        """As if all before had been fed: the first bytes, the marks of the whole chunks, and what lies behind them."""
        trace = cls()
        trace.size = (len(marks) // MARK_BYTES - CHUNK // SMALL_CHUNK + 1) * CHUNK
        trace.chain = chain
        trace._marks, trace._fine = bytearray(marks), bytearray(fine[:FINE_BYTES])
        trace.feed(rest)
        return trace

    @property
    def chunk_marks(self) -> bytes:
        return bytes(self._marks)

    def marks_of(self, scheme: int) -> bytes:
        """The marks of the chunks in this scheme."""
        return bytes(self._plain_marks) if scheme == PLAIN else self.chunk_marks

    def digest(self, behind: bytes = b"") -> bytes:
        """Digest of all that was fed, and of `behind` as if it were fed too."""
        if behind:
            twin = Trace()
            twin.size, twin.chain, twin._piece = self.size, self.chain, self._piece.copy()
            twin.feed(behind)
            return twin.digest()
        if self.chain and self.size % CHUNK == 0:
            return self.chain
        return _chained(self.chain, self._piece.digest())

    def digest_of(self, scheme: int) -> bytes:
        """Digest of all that was fed in this scheme."""
        return self._plain.digest() if scheme == PLAIN and self._plain is not None else self.digest()

    def leave_plain(self) -> None:
        """No content of the scheme PLAIN is compared with any more."""
        self._plain = None

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
            chunk = SMALL_CHUNK if self.size < CHUNK else CHUNK
            piece = view[: chunk - self.size % chunk]
            self._piece.update(piece)
            if self._plain is not None:
                self._plain.update(piece)
            self.size += len(piece)
            if self.size % chunk == 0:
                self._end_chunk()
            view = view[len(piece) :]

    def _end_chunk(self) -> None:
        here = self._piece.copy().digest()
        self._marks += here[:MARK_BYTES]
        if self._plain is not None:
            self._plain_marks += self._plain.copy().digest()[:MARK_BYTES]
        if self.size % CHUNK == 0:
            self.chain = _chained(self.chain, here)
            self._piece = hashlib.sha256()


def _chained(chain: bytes, piece: bytes) -> bytes:
    return digest(chain + piece) if chain else piece
