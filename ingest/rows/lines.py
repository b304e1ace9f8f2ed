"""Where the lines of a segment lie, and what can be told of them from their bytes alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.formats.spec import Relation
from ingest.rows.jsontext import MAX_DEPTH, too_deep

TAB, LF, CR, BLANK, COMMA, OPEN_BRACE, CLOSE_BRACE, COLON, MINUS, ZERO = b"\t\n\r ,{}:-0"
#: Bytes that are searched at a time, so that the work stays in the processor's cache.
CHUNK = 1 << 18
WORD = 8
Numbers = NDArray[np.int64]


class Lines:
    """The physical lines of `data`; the last one may lack its line end. Lines are numbered from 0 here."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.bytes: NDArray[np.uint8] = np.frombuffer(data, np.uint8)
        ends: Numbers = np.concatenate(
            [np.flatnonzero(self.bytes[at : at + CHUNK] == LF) + at for at in range(0, max(len(data), 1), CHUNK)]
        )
        if data and not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        self.ends = ends
        self.starts: Numbers = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends

    def __len__(self) -> int:
        return len(self.ends)

    def start(self, number: int) -> int:
        """Offset of a line in the segment."""
        return int(self.starts[number])

    def line(self, number: int) -> bytes:
        """The bytes of a line without its line end (LF or CRLF)."""
        return self.data[self.starts[number] : self.ends[number]].removesuffix(b"\r")

    def objects(self, longest: int) -> NDArray[np.bool_]:
        """Which lines begin as a JSON object does and are not longer than `longest` bytes."""
        lengths = self.ends - self.starts
        firsts = self.bytes[np.minimum(self.starts, len(self.data) - 1)]
        return np.asarray((lengths > 1) & (lengths < longest) & (firsts == OPEN_BRACE), np.bool_)

    def strings(self, numbers: Numbers) -> pa.LargeStringArray:
        """These lines, which must be UTF-8, as texts with their line ends; nothing is copied where they are all."""
        offsets = np.append(self.starts, len(self.data))
        whole = pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(self.data))
        return whole if len(numbers) == len(self) else whole.take(pa.array(numbers))

    def unicode(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Which of these lines are UTF-8, and do not begin with a BOM."""
        found = np.ones(len(numbers), np.bool_)
        if self.data.isascii():
            return found
        try:
            whole = self.data.decode() is not None
        except UnicodeDecodeError:
            whole = False
        for at, number in enumerate(numbers.tolist()):
            if whole and number:
                break
            line = self.line(number)
            try:
                found[at] = not line.decode().startswith("\ufeff")
            except UnicodeDecodeError:
                found[at] = False
        return found

    def lenient(self) -> NDArray[np.bool_]:
        """Which lines the engine might read otherwise than JSON says.

        That is: a comma before a closing bracket, deep nesting, the number -0, whose sign the engine drops, and the
        form feeds and vertical tabs that it takes for white space.
        """
        found = np.zeros(len(self), np.bool_)
        for blank in (b"\v", b"\f"):
            if blank in self.data:
                found[np.searchsorted(self.ends, np.flatnonzero(self.bytes == blank[0]))] = True
        found[np.searchsorted(self.ends, self._trailing_commas())] = True
        found[np.searchsorted(self.ends, self._negative_zeros())] = True
        for number in np.flatnonzero(self.ends - self.starts > 2 * MAX_DEPTH).tolist():
            start, end = self.starts[number], self.ends[number]
            closers = self.data.count(b"}", start, end) + self.data.count(b"]", start, end)
            if closers > MAX_DEPTH:
                found[number] |= too_deep(self.line(number).decode("utf-8", "surrogateescape"))
        return found

    def exact_times(self, keys: Iterable[str]) -> NDArray[np.bool_]:
        """Where an epoch with a fraction under one of `keys` surely has no more than six decimals.

        The engine gives such a number through a double, which hides further decimals, and whether to cut or to round.
        Looked for only where the first line has such a time; elsewhere none is sure.
        """
        names = b"|".join(re.escape(key).encode() for key in keys)
        first = self.line(0) if len(self) else b""
        if not re.search(rb'"(?:%s)"\s*:\s*[0-9]+\.' % names, first):
            return np.zeros(len(self), np.bool_)
        longer = re.finditer(rb'"(?:%s)"\s*:\s*[0-9]+(?:\.[0-9]{7}|\.?[0-9]*[eE])' % names, self.data)
        exact = np.ones(len(self), np.bool_)
        exact[np.searchsorted(self.ends, np.fromiter((match.start() for match in longer), np.int64))] = False
        return exact

    def _negative_zeros(self) -> Numbers:
        """Where `-0` follows a colon or white space."""
        parts = [np.empty(0, np.int64)]
        for start in range(0, len(self.bytes), CHUNK):
            chunk = self.bytes[start : start + CHUNK + 2]
            places = np.flatnonzero((chunk[1:-1] == MINUS) & (chunk[2:] == ZERO))
            before = chunk[places]
            parts.append(places[(before == COLON) | (before <= BLANK)] + start + 1)
        return np.concatenate(parts)

    def _trailing_commas(self) -> Numbers:
        """Where a closing bracket follows a comma, be there white space between or not."""
        parts = [np.empty(0, np.int64)]
        for start in range(0, len(self.bytes), CHUNK):
            chunk = self.bytes[max(start - 1, 0) : start + CHUNK]
            # The two closing brackets differ in one bit; a byte up to the blank is white space here.
            closes = (chunk[1:] | 0x20) == CLOSE_BRACE
            before = chunk[:-1]
            parts.append(np.flatnonzero(closes & ((before == COMMA) | (before <= BLANK))) + max(start, 1))
        closers = np.concatenate(parts)
        places = closers - 1
        while len(blank := np.flatnonzero(np.isin(self.bytes[places], (TAB, CR, BLANK)) & (places > 0))):
            places[blank] -= 1
        commas: Numbers = closers[self.bytes[places] == COMMA]
        return commas


def group_lines(
    lines: Lines, among: Numbers, kind: str, relations: Sequence[Relation]
) -> Iterator[tuple[Relation, Numbers]]:
    """Parts `among` by the relation that the event under the key `kind` seems to feed; the rest is left out.

    This is a guess from bytes (an object within the line may hold such a key too): the reader must check it.
    """
    index_of = {event: index for index, relation in enumerate(relations) for event in relation.events}
    found = np.full(len(lines), -1, np.int8)
    rest = among
    for event, index in index_of.items():
        for blank in ("", " "):
            if len(rest):
                prefix = f'{{"{kind}":{blank}"{event}"'.encode()
                fits = _begin_with(lines, rest, prefix)
                found[rest[fits]] = index
                rest = rest[~fits]
    pattern = re.compile(
        rb'"%s"\s*:\s*"(%s)"' % (re.escape(kind).encode(), "|".join(map(re.escape, index_of)).encode())
    )
    for number in rest.tolist():
        match = pattern.search(lines.data, int(lines.starts[number]), int(lines.ends[number]))
        if match:
            found[number] = index_of[match[1].decode()]
    for index, relation in enumerate(relations):
        numbers = np.flatnonzero(found == index)
        if len(numbers):
            yield relation, numbers


def _begin_with(lines: Lines, numbers: Numbers, prefix: bytes) -> NDArray[np.bool_]:
    """Which lines begin with `prefix` (of 8 bytes or more), compared by overlapping words of 8 bytes."""
    fits: NDArray[np.bool_] = lines.ends[numbers] - lines.starts[numbers] > len(prefix)
    words = np.ndarray((max(len(lines.data) - WORD + 1, 0),), "<u8", lines.data, strides=(1,))
    for place in sorted({*range(0, len(prefix) - WORD, WORD), len(prefix) - WORD}):
        left = np.flatnonzero(fits)
        wanted = int.from_bytes(prefix[place : place + WORD], "little")
        fits[left] = words[lines.starts[numbers[left]] + place] == wanted
    return fits
