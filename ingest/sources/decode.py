"""A file's decoded bytes: plain, gzip or zstd, told by its contents, checked to the last byte.

Truncated or damaged data, other bytes behind the compressed ones, and data that swells beyond the limits raise
`Refused`, wherever in the stream it shows: what was read before is then not to be trusted either.
"""

from __future__ import annotations

import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from typing import IO, Literal

import zstandard

from ingest.errors import Refused
from ingest.sources.discover import Found
from ingest.sources.limits import Limits

BLOCK = 1 << 20
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
PARQUET = b"PAR1"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
# One input byte of zstd may become 32 KiB, so a piece is at most 64 MiB.
ZSTD_PIECE = 2048
ZSTD_WINDOW = 128 << 20
SNIFFED = 4096
SPOOL_IN_MEMORY = 16 << 20
MAY_BE_MORE = "where that is right, raise the setting {}"

Kind = Literal["lines", "parquet"]


class Decoded:
    """A stream of decoded bytes that can be read again from its start.

    `regular` is False for pipes; `stat` is the file's state before the first byte was read.
    """

    def __init__(self, raw: IO[bytes], found: Found, limits: Limits) -> None:
        self.found = found
        self.stat = os.fstat(raw.fileno())
        self.regular = stat.S_ISREG(self.stat.st_mode)
        self._raw = raw
        self._limits = limits
        start = raw.read(SNIFFED)
        self.kind: Kind = "parquet" if start[:4] == PARQUET else "lines"
        self._codec = _codec(start)
        self._blocks = self._decode(start)
        self._left: list[bytes] = []
        self._spool: IO[bytes] | None = None

    @property
    def compressed(self) -> bool:
        return self._codec != "plain"

    @property
    def taken(self) -> int:
        """Bytes of the file itself that were read so far; 0 for pipes."""
        return self._raw.tell() if self.regular else 0

    def read(self, size: int, before: bytes = b"") -> bytes:
        """`before` and the next `size` bytes behind it; fewer at the end only."""
        parts, missing = [before], size
        while missing and (block := self._next()):
            if len(block) > missing:
                self._left.append(block[missing:])
                block = block[:missing]
            parts.append(block)
            missing -= len(block)
        data = b"".join(parts)
        if self._spool is not None:
            self._spool.write(memoryview(data)[len(before) :])
        return data

    def unread(self, data: bytes) -> None:
        """Puts bytes back, to be read next; not between `record` and `rewind` or `forget`."""
        if data:
            self._left.append(data)

    def at_end(self) -> bool:
        block = self._next()
        if block:
            self._left.append(block)
        return not block

    def look(self, offset: int, size: int) -> bytes:
        """These bytes of the file itself, fewer at its end only; what is read next stays as it is."""
        parts = []
        while size and (part := os.pread(self._raw.fileno(), size, offset)):
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
        return b"".join(parts)

    def skip_to(self, offset: int) -> None:
        """Lets a file that is not compressed be read on from here."""
        self._raw.seek(offset)
        self._left, self._blocks = [], _plain(self._raw, b"")

    def record(self, start: bytes) -> None:
        """Prepares `rewind` where there is no seeking; `start` is what was read so far."""
        if not self.regular:
            self._spool = tempfile.SpooledTemporaryFile(SPOOL_IN_MEMORY)  # noqa: SIM115 - closed with self
            self._spool.write(start)

    def rewind(self) -> None:
        """Starts again at the first byte."""
        if self._spool is None:
            self._raw.seek(0)
            self._left, self._blocks = [], self._decode(b"")
            return
        spool, live = self._spool, [*reversed(self._left)]
        spool.seek(0)
        self._left, self._spool, self._blocks = [], None, _chain(spool, live, self._blocks)

    def forget(self) -> None:
        """Ends `record`: there will be no `rewind`."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def close(self) -> None:
        self.forget()
        self._raw.close()

    def _next(self) -> bytes:
        if self._left:
            return self._left.pop()
        try:
            return next(self._blocks, b"")
        except OSError as error:
            raise Refused(f"cannot be read: {error.strerror or error}") from error

    def _decode(self, start: bytes) -> Iterator[bytes]:
        if self._codec == "plain":
            return _plain(self._raw, start)
        swelling = _Swelling(self._limits)
        return (_gzip if self._codec == "gzip" else _zstd)(_pieces(self._raw, start, swelling), swelling)


def open_decoded(found: Found, limits: Limits | None = None) -> Decoded:
    """Opens a file or standard input. Refused: it cannot be read."""
    try:
        raw = os.fdopen(0, "rb", closefd=False) if found.path is None else found.path.open("rb")
        try:
            return Decoded(raw, found, limits or Limits())
        except BaseException:
            raw.close()
            raise
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror or error}") from error


def refuse_unless_text(start: bytes) -> None:
    """Refused: the start of the decoded bytes says that they are no lines of UTF-8."""
    if _codec(start) != "plain" or start[:4] == PARQUET:
        raise Refused("compressed data inside compressed data; unpack it once and load that")
    even, odd = start[0:SNIFFED:2], start[1:SNIFFED:2]
    zeros = (even.count(0) / len(even), odd.count(0) / len(odd)) if len(odd) >= 8 else (0.0, 0.0)
    if start[:2] in UTF16 or (max(zeros) > 0.7 and min(zeros) < 0.1):
        raise Refused("UTF-16 text; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8) and load that")


def _codec(start: bytes) -> Literal["gzip", "zstd", "plain"]:
    if start[:2] == GZIP:
        return "gzip"
    return "zstd" if _is_zstd(start) else "plain"


def _is_zstd(start: bytes) -> bool:
    return start[:4] == ZSTD or (start[1:4] == ZSTD_SKIPPABLE and 0x50 <= start[0] <= 0x5F)


class _Swelling:
    """Counts bytes in and out of a decoder. Refused: more came out than the limits allow."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._read = self._decoded = 0

    def read(self, size: int) -> None:
        self._read += size

    def decoded(self, size: int) -> None:
        self._decoded += size
        limits = self._limits
        if self._decoded > limits.decoded_bytes:
            raise Refused(
                f"decodes to more than {limits.decoded_bytes} bytes; {MAY_BE_MORE.format('max_decoded_bytes')}"
            )
        if self._decoded > max(limits.ratio_from_bytes, self._read * limits.ratio):
            raise Refused(f"decodes to more than {limits.ratio} times its size; {MAY_BE_MORE.format('max_ratio')}")


def _plain(raw: IO[bytes], start: bytes) -> Iterator[bytes]:
    if start:
        yield start
    while block := raw.read(BLOCK):
        yield block


def _pieces(raw: IO[bytes], start: bytes, swelling: _Swelling) -> Iterator[bytes]:
    for block in _plain(raw, start):
        for at in range(0, len(block), 64 << 10):
            piece = block[at : at + (64 << 10)]
            swelling.read(len(piece))
            yield piece


def _chain(spool: IO[bytes], live: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    with spool:
        yield from _plain(spool, b"")
    yield from live
    yield from rest


def _gzip(pieces: Iterator[bytes], swelling: _Swelling) -> Iterator[bytes]:
    """All members; zlib checks each one's CRC and length."""
    data = next(pieces, b"")
    while data:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            if not data and not (data := next(pieces, b"")):
                raise Refused("truncated gzip data: it ends in the middle of a member")
            try:
                out = member.decompress(data, BLOCK)
            except zlib.error as error:
                raise Refused(f"damaged gzip data: {error}") from error
            data = member.unconsumed_tail
            if out:
                swelling.decoded(len(out))
                yield out
        data = _behind(member.unused_data, pieces)
        if data and data[:2] != GZIP:
            raise Refused("other bytes behind the gzip data")


def _zstd(pieces: Iterator[bytes], swelling: _Swelling) -> Iterator[bytes]:
    """All frames, skippable ones too; the library checks a frame's checksum where it has one."""
    data = next(pieces, b"")
    while data:
        frame = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
        while not frame.eof:
            if not data and not (data := next(pieces, b"")):
                raise Refused("truncated zstd data: it ends in the middle of a frame")
            try:
                out = frame.decompress(data[:ZSTD_PIECE])
            except zstandard.ZstdError as error:
                raise Refused(f"damaged zstd data: {error}") from error
            data = (frame.unused_data if frame.eof else b"") + data[ZSTD_PIECE:]
            if out:
                swelling.decoded(len(out))
                yield out
        data = _behind(data, pieces)
        if data and not _is_zstd(data):
            raise Refused("other bytes behind the zstd data")


def _behind(data: bytes, pieces: Iterator[bytes]) -> bytes:
    """What follows a member, without zeros that pad it; at least four bytes where there are so many."""
    data = data.lstrip(b"\0")
    while len(data) < 4 and (more := next(pieces, b"")):
        data = (data + more).lstrip(b"\0")
    return data
