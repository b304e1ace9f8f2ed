"""The contents that were loaded: what a publish stores with the facts, and what a next run compares with."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.sources.marks import CHAINED, MARK_BYTES, PLAIN

# The columns of a row, in order, with their engine types. `names` is JSON: real path -> what was seen there or null.
COLUMNS = {
    "kind": "VARCHAR",
    "size": "BIGINT",
    "digest": "BLOB",
    "resume": "BIGINT",
    "resume_digest": "BLOB",
    "line_ends": "BIGINT",
    "open": "BOOLEAN",
    "wholes": "BLOB",
    "line_marks": "BLOB",
    "chunk_marks": "BLOB",
    "names": "VARCHAR",
    "scheme": "TINYINT",
    "chain": "BLOB",
}
# What the last columns are where a snapshot of an earlier layout has none.
BEFORE = {"scheme": PLAIN, "chain": b""}
Row = tuple[str, int, bytes, int, bytes, int, bool, bytes, bytes, bytes, str, int, bytes]
# Device, inode, size, mtime and ctime (ns): the same five say that nothing was written since.
FileState = tuple[int, int, int, int, int]
DIGEST_BYTES = 32
MAX_WHOLES = 16


class Seen(NamedTuple):
    """The state of a file when it was read last.

    Not `settled`: it was written so shortly before that it may have changed since without a trace in its times, or it
    held an unfinished line that waits.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    settled: bool = True

    @property
    def state(self) -> FileState:
        return self.device, self.inode, self.size, self.mtime_ns, self.ctime_ns


@dataclass(eq=False)
class Content:
    """One content, as far as it was loaded.

    `size` and `digest` cover all that was counted, `resume` and `resume_digest` what a longer content is taken up
    behind: the same, but for a last line that was rejected unfinished, which is looked at again from its start.
    `line_ends` counts the LFs before `resume`; `open` says that the byte before it is none. `wholes` are digests of
    small files of this content as they were when read, unfinished last line included. `chain` is the digest at the last
    whole chunk before `resume`; digests and marks are of `scheme`.
    """

    kind: str
    size: int
    digest: bytes
    resume: int
    resume_digest: bytes
    line_ends: int = 0
    open: bool = False
    wholes: tuple[bytes, ...] = ()
    line_marks: bytes = b""
    chunk_marks: bytes = b""
    names: dict[str, Seen | None] = field(default_factory=dict)
    scheme: int = CHAINED
    chain: bytes = b""

    def remember_whole(self, whole: bytes) -> None:
        self.wholes = (*(old for old in self.wholes if old != whole), whole)[-MAX_WHOLES:]

    def line_mark(self, number: int) -> bytes:
        """Mark of the line with this number, from 0; empty where there is none."""
        return self.line_marks[number * MARK_BYTES : (number + 1) * MARK_BYTES]

    def agrees(self, chunk_marks: bytes) -> bool:
        """Whether the chunks of another content are this one's first."""
        return self.chunk_marks.startswith(chunk_marks)


class Known:
    """All contents, found by name, by their first KiB or by the digest of a whole.

    `changed` tells whether there is anything to publish since `from_rows`.
    """

    def __init__(self, contents: Iterable[Content] = ()) -> None:
        self._contents: dict[Content, None] = {}
        self._plain = 0
        self._places: dict[Content, int] = {}
        self._gone: list[int] = []
        self._by_name: dict[str, dict[Content, None]] = defaultdict(dict)
        self._by_start: dict[bytes, dict[Content, None]] = defaultdict(dict)
        self._by_whole: dict[bytes, dict[Content, None]] = defaultdict(dict)
        for content in contents:
            self.add(content)
        self.changed = False

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Any, ...]]) -> Known:
        """From what `rows` gave, in the order of COLUMNS."""
        contents = [_from_row(row) for row in rows]
        known = cls(contents)
        known._places = {content: place for place, content in enumerate(contents)}
        return known

    def rows(self) -> list[Row]:
        """One row a content, values of the types in COLUMNS; in an order that loading does not change."""
        return sorted(_to_row(content) for content in self._contents)

    def changes(self) -> tuple[list[Row], list[int]]:
        """Rows that `from_rows` did not have, or had otherwise; and the places of those of its rows that go."""
        return sorted(_to_row(content) for content in self._contents if content not in self._places), self._gone

    def __len__(self) -> int:
        return len(self._contents)

    @property
    def has_plain(self) -> bool:
        """Whether a content is known by digests of the scheme PLAIN."""
        return self._plain > 0

    def named(self, name: str | None, kind: str) -> list[Content]:
        return [] if name is None else _of_kind(self._by_name.get(name, {}), kind)

    def starting(self, chunk_marks: bytes, kind: str) -> list[Content]:
        """Those that share the first KiB."""
        start = chunk_marks[:MARK_BYTES]
        return _of_kind(self._by_start.get(start, {}), kind) if start else []

    def whole(self, whole: bytes, kind: str) -> list[Content]:
        """Those that were, at some reading, a file of just this digest."""
        return _of_kind(self._by_whole.get(whole, {}), kind)

    def untouched(self, name: str, state: FileState) -> Content | None:
        """The content of the file of this name if its state is that of its last reading."""
        return next((c for c in self._by_name.get(name, {}) if c.names[name] == (*state, True)), None)

    def add(self, content: Content) -> None:
        self.changed = True
        self._contents[content] = None
        self._plain += content.scheme == PLAIN
        for table, key in self._keys(content):
            table[key][content] = None

    def replace(self, old: Content, new: Content) -> None:
        """`new` is `old`, grown: it takes over the names and wholes."""
        self.changed = True
        if old in self._contents:
            del self._contents[old]
            self._plain -= old.scheme == PLAIN
        self._leave(old)
        for table, key in self._keys(old):
            table[key].pop(old, None)
        new.names = {**old.names, **new.names}
        for whole in old.wholes:
            if whole not in new.wholes:
                new.wholes = (whole, *new.wholes)
        new.wholes = new.wholes[-MAX_WHOLES:]
        self.add(new)

    def call(self, content: Content, name: str | None, seen: Seen | None) -> None:
        """Notes that the file of this name has this content now."""
        if name is None:
            return
        if name not in content.names or content.names[name] != seen:
            content.names[name] = seen
            self._by_name[name][content] = None
            self._leave(content)
            self.changed = True

    def _leave(self, content: Content) -> None:
        """The row that it came from does not stand any more."""
        if content in self._places:
            self._gone.append(self._places.pop(content))

    def _keys(self, content: Content) -> Iterator[tuple[dict[Any, dict[Content, None]], Any]]:
        yield from ((self._by_name, name) for name in content.names)
        yield from ((self._by_whole, whole) for whole in (content.digest, *content.wholes))
        if content.chunk_marks:
            yield self._by_start, content.chunk_marks[:MARK_BYTES]


def _of_kind(contents: Iterable[Content], kind: str) -> list[Content]:
    return [content for content in contents if content.kind == kind]


def _to_row(c: Content) -> Row:
    names = json.dumps(c.names, sort_keys=True, separators=(",", ":"))
    wholes = b"".join(c.wholes)
    marks = c.line_marks, c.chunk_marks
    identity = c.kind, c.size, c.digest, c.resume, c.resume_digest, c.line_ends, c.open
    return *identity, wholes, *marks, names, c.scheme, c.chain


def _from_row(row: tuple[Any, ...]) -> Content:
    *plain, joined, line_marks, chunk_marks, names, scheme, chain = row
    wholes = tuple(joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES))
    seen = {name: None if state is None else Seen(*state) for name, state in json.loads(names).items()}
    kind, size, digest, resume, resume_digest, line_ends, is_open = plain
    marks = line_marks, chunk_marks
    return Content(kind, size, digest, resume, resume_digest, line_ends, is_open, wholes, *marks, seen, scheme, chain)
