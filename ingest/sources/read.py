"""One file of one run: what of it is new, in segments of complete lines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from ingest.errors import Refused
from ingest.sources.decode import BLOCK, MAY_BE_MORE, Decoded, Kind, open_decoded, refuse_unless_text
from ingest.sources.discover import Found
from ingest.sources.growth import take_up
from ingest.sources.known import Content, FileState, Known, Seen
from ingest.sources.limits import Limits
from ingest.sources.marks import FINE_BYTES, PLAIN, SHARED_BYTES, Trace
from ingest.sources.match import Match, is_whole_json, locate

__all__ = ["Reading", "Segment", "Status", "Tail", "is_whole_json", "last_line_end"]

Status = Literal["new", "grown", "unchanged"]
Tail = Literal["taken", "waits", "rejected"]
# A file changed this shortly before it was read may change again without a trace in its times.
SETTLED_NS = 2_000_000_000


@dataclass(frozen=True)
class Segment:
    """Complete lines; or, with `tail`, the bytes behind the last line end.

    `first_line` counts from 1, `offset` is in decoded bytes, both from the start of the file; `line_ends` are the LFs
    in `data`.
    """

    data: bytes
    first_line: int
    offset: int
    line_ends: int
    tail: bool = False


def last_line_end(data: bytes) -> int:
    """Where the last complete line ends."""
    return data.rfind(b"\n") + 1


class Reading:
    """Opens a file, compares it with what is known, hands out what is new; `commit` remembers it.

    `status`, `kind`, `compressed`, `final` (it cannot grow: an unfinished last line will never be whole), `head` (the
    file's first decoded bytes, 64 KiB and what ends the line there, for the guess of a format and the header of a CSV;
    empty when unchanged without reading), `first_line` and `first_offset` of what is new. Refused: by the constructor
    and by `segments`.
    """

    def __init__(self, found: Found, known: Known, limits: Limits | None = None) -> None:
        self.found = found
        self.path = found.path
        self.kind: Kind = "lines"
        self.status: Status = "unchanged"
        self.compressed = self.final = False
        self.head = b""
        self._known = known
        self._limits = limits or Limits()
        self._decoded: Decoded | None = None
        self._match: Match | None = None
        self._trace = Trace()
        self._line_ends = 0
        self._tail = b""
        self._exhausted = False
        self._name: str | None = None
        self._began_ns = time.time_ns()
        if not self._is_untouched():
            self._open()
        self.first_line = self._line_ends + 1
        self.first_offset = self._trace.size

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._decoded is not None:
            self._decoded.close()

    @property
    def taken(self) -> int:
        """Bytes of the file, as it lies on the disk, that were read so far; 0 for pipes."""
        return self._decoded.taken if self._decoded is not None else 0

    def segments(self, cut: Callable[[bytes], int] = last_line_end) -> Iterator[Segment]:
        """What is new, once. `cut` tells where in some bytes, that begin a record, the last complete record ends."""
        if self.status == "unchanged" or self.kind == "parquet" or self._decoded is None:
            return
        held, ended = b"", False
        while not ended:
            wanted = max(self._limits.segment_bytes - len(held), len(held), 1)
            before = len(held)
            held = self._decoded.read(wanted, held)
            ended = len(held) - before < wanted
            end = cut(held)
            data, held = held[:end], held[end:]
            self._refuse_long_lines(data, held)
            if data:
                yield self._pass_on(data)
        self._tail, self._exhausted = held, True
        if held:
            yield Segment(held, self._line_ends + 1, self._trace.size, held.count(b"\n"), tail=True)

    def commit(self, tail: Tail = "taken") -> Status:
        """Remembers what was handed out, all of it accepted, and says what the file was in the end.

        `tail` is what became of the segment with that mark, if there was one.
        """
        if self._match is not None and self._match.covered:
            self._known.call(self._match.content, self._name, self._seen(waiting=False))
            return "unchanged"
        if self.status != "unchanged" and not self._exhausted and self.kind == "lines":
            raise RuntimeError("commit before all segments were taken")
        started = self.first_offset
        content = self._remember(tail)
        if content.size or not self._tail:
            seen = self._seen(waiting=bool(self._tail) and tail == "waits")
            if self._match is not None:
                self._known.replace(self._match.content, content)
            else:
                self._known.add(content)
            self._known.call(content, self._name, seen)
        if self.status == "grown" and content.size == started:
            return "unchanged"
        return self.status

    def _is_untouched(self) -> bool:
        """Whether the file's state, its ctime among it, says that nothing was written since the last reading."""
        if self.path is None:
            return False
        try:
            state = file_state(os.stat(self.path))
        except (OSError, ValueError):
            return False
        self._name = os.path.realpath(self.path)
        content = self._known.untouched(self._name, state)
        if content is None:
            return False
        self.kind = "parquet" if content.kind == "parquet" else "lines"
        self._match = Match(content, covered=True)
        return True

    def _open(self) -> None:
        self._decoded = open_decoded(self.found, self._limits)
        try:
            self._compare(self._decoded)
        except BaseException:
            self.close()
            raise

    def _compare(self, decoded: Decoded) -> None:
        self.kind, self.compressed = decoded.kind, decoded.compressed
        self.final = self.compressed or not decoded.regular or self.path is None
        self._name = self._name if decoded.regular else None
        if self.kind == "parquet":
            self._compare_whole(decoded)
            return
        self.head = self._first_lines(decoded)
        decoded.unread(self.head)
        refuse_unless_text(self.head)
        self._match, self._trace = take_up(decoded, self._known, self._name) or locate(decoded, self._known, self._name)
        if self._match is None:
            self.status = "new"
        elif not self._match.covered:
            self._line_ends = self._match.content.line_ends
            self.status = "grown" if self._goes_on(decoded, self._match.content.open) else "unchanged"

    def _first_lines(self, decoded: Decoded) -> bytes:
        """The first 64 KiB with the end of the line there, or as much of it as a line may have."""
        head = decoded.read(FINE_BYTES)
        while FINE_BYTES <= len(head) <= self._limits.line_bytes and head.find(b"\n", FINE_BYTES - 1) < 0:
            before = len(head)
            head = decoded.read(before, head)
            if len(head) < 2 * before:
                break
        end = head.find(b"\n", FINE_BYTES - 1) + 1
        if end and end < len(head):
            decoded.unread(head[end:])
            head = head[:end]
        return head

    def _compare_whole(self, decoded: Decoded) -> None:
        if not decoded.regular:
            raise Refused("Parquet cannot be read from a pipe; name the file")
        self._trace = Trace(plain=self._known.has_plain)
        while data := decoded.read(BLOCK):
            self._trace.feed(data)
        same = self._known.whole(self._trace.digest(), "parquet")
        same = same or self._known.whole(self._trace.digest_of(PLAIN), "parquet")
        self._match = Match(same[0], covered=True) if same else None
        self.status = "unchanged" if same else "new"

    def _goes_on(self, decoded: Decoded, unended: bool) -> bool:
        """Whether there is anything new; the end of a line that was taken without it is not."""
        if unended:
            start = decoded.read(2)
            line_end = b"\n" if start[:1] == b"\n" else b"\r\n" if start == b"\r\n" else b""
            if start == b"\r":
                return False
            decoded.unread(start[len(line_end) :])
            self._trace.feed(line_end)
            self._line_ends += bool(line_end)
        return not decoded.at_end()

    def _pass_on(self, data: bytes) -> Segment:
        segment = Segment(data, self._line_ends + 1, self._trace.size, data.count(b"\n"))
        self._trace.feed(data)
        self._line_ends += segment.line_ends
        return segment

    def _refuse_long_lines(self, data: bytes, unended: bytes) -> None:
        limit, start = self._limits.line_bytes, 0
        while len(data) - start > limit:
            end = data.rfind(b"\n", start, start + limit + 1)
            if end < 0:
                break
            start = end + 1
        if len(data) - start > limit or len(unended) > limit:
            line = self._line_ends + data.count(b"\n", 0, start) + 1
            more = MAY_BE_MORE.format("max_line_bytes")
            raise Refused(f"a line of more than {limit} bytes, at or after line {line}; {more}")

    def _remember(self, tail: Tail) -> Content:
        trace, behind = self._trace, self._tail
        whole = trace.digest(behind)
        if tail == "taken":
            trace.feed(behind)
            self._line_ends += behind.count(b"\n")
        at_resume = trace.size, trace.digest(), self._line_ends, trace.ends_open
        chain = trace.chain
        if tail == "rejected":
            trace.feed(behind)
        content = Content(self.kind, trace.size, trace.digest(), *at_resume, chain=chain)
        if self.kind == "parquet":
            return content
        content.line_marks, content.chunk_marks = trace.line_marks(), trace.chunk_marks
        if content.resume < SHARED_BYTES and trace.size < FINE_BYTES:
            content.remember_whole(whole)
        return content

    def _seen(self, waiting: bool) -> Seen | None:
        """The file's state, and whether it can be relied upon next time."""
        if self._decoded is None:
            return self._match.content.names.get(self._name) if self._match and self._name else None
        if not self._decoded.regular:
            return None
        state = file_state(self._decoded.stat)
        return Seen(*state, settled=not waiting and state[-1] < self._began_ns - SETTLED_NS)


def file_state(stat: os.stat_result) -> FileState:
    """Device, inode, size, mtime and ctime (ns): the same five say that nothing was written since."""
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
