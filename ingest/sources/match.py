"""Is this content known: the same, a beginning of a known one, or a known one grown?"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ingest.errors import Refused
from ingest.sources.decode import BLOCK, Decoded
from ingest.sources.known import Content, Known
from ingest.sources.marks import FINE_BYTES, MARK_BYTES, PLAIN, SHARED_BYTES, Trace, digest, line_marks, unended_mark

REWRITTEN = "was rewritten while it was read; load it again"


@dataclass(frozen=True)
class Match:
    """The known content, and whether what was read lies wholly within it."""

    content: Content
    covered: bool


def is_whole_json(line: bytes) -> bool:
    """Whether the bytes are one JSON object, of any encoding faults inside its texts."""
    text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip(" \t\r\n")
    if not (text.startswith("{") and text.endswith("}")):
        return False
    try:
        json.loads(text, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        return False
    return True


def locate(decoded: Decoded, known: Known, name: str | None) -> tuple[Match | None, Trace]:
    """Finds the content and leaves `decoded` behind the part that is known (and the trace fed with it).

    Only where the first KiB is known does that read more than 64 KiB, and only until the contents part.
    """
    fine = decoded.read(FINE_BYTES)
    if len(fine) < FINE_BYTES:
        match = _locate_in_memory(fine, known, name)
    else:
        match, trace = _locate_in_stream(fine, decoded, known, name)
        if trace is not None:
            trace.leave_plain()
            return match, trace
    if match is None or match.covered or match.content.resume <= len(fine):
        start = 0 if match is None or match.covered else match.content.resume
        trace = Trace()
        trace.feed(fine[:start])
        decoded.unread(fine[start:])
        return match, trace
    return match, _skip(decoded, match.content)


def _locate_in_memory(fine: bytes, known: Known, name: str | None) -> Match | None:
    """For a content that is shorter than 64 KiB, and all there."""
    for content in known.whole(digest(fine), "lines"):
        if len(fine) <= content.size:
            return Match(content, covered=True)
        if _continues(fine, content):
            return Match(content, covered=False)
    trace = Trace()
    trace.feed(fine)
    candidates = {*known.named(name, "lines"), *known.starting(trace.chunk_marks, "lines")}
    for content in candidates:
        if len(fine) < content.size and _is_shorter(fine, trace.chunk_marks, content):
            return Match(content, covered=True)
    return _longest_grown(fine, candidates, known, name)


def _longest_grown(fine: bytes, candidates: set[Content], known: Known, name: str | None) -> Match | None:
    same_name = known.named(name, "lines")
    grown = [
        content
        for content in candidates
        if (content.resume >= SHARED_BYTES or content in same_name) and _continues(fine, content)
    ]
    longest = max(grown, key=lambda content: content.resume, default=None)
    return None if longest is None else Match(longest, covered=False)


def _continues(fine: bytes, content: Content) -> bool:
    return 0 < content.resume <= len(fine) and digest(fine[: content.resume]) == content.resume_digest


def _is_shorter(fine: bytes, chunk_marks: bytes, content: Content) -> bool:
    """Whether all of `fine` is a beginning of the longer content.

    Complete lines are compared by their marks; so is a last line that only lacks its end. Of a last line cut
    elsewhere, what lies behind the last whole chunk goes on trust, unless the line reads as a whole one.
    """
    end = fine.rfind(b"\n") + 1
    marks, tail = line_marks(fine[:end]), fine[end:]
    if marks and marks[-MARK_BYTES:] != content.line_mark(len(marks) // MARK_BYTES - 1):
        return False
    if not tail or unended_mark(fine) == content.line_mark(len(marks) // MARK_BYTES):
        return True
    return bool(marks or chunk_marks) and content.agrees(chunk_marks) and not is_whole_json(tail)


def _locate_in_stream(
    fine: bytes, decoded: Decoded, known: Known, name: str | None
) -> tuple[Match | None, Trace | None]:
    """For longer ones: reads along the known contents until the last of them has ended or parted.

    The trace is None where the stream stands behind `fine`, or at the start when it had to be rewound.
    """
    trace = Trace(plain=known.has_plain)
    trace.feed(fine)
    starting = known.starting(trace.chunk_marks, "lines")
    best = _longest_grown(fine, {*known.named(name, "lines"), *starting}, known, name)
    alive = [content for content in starting if content.size > FINE_BYTES and content.agrees(trace.chunk_marks)]
    if not alive:
        return best, None
    decoded.record(fine)
    while alive:
        point = min(p for content in alive for p in (content.resume, content.size) if p > trace.size)
        wanted = min(point - trace.size, BLOCK)
        data = decoded.read(wanted)
        trace.feed(data)
        alive = [content for content in alive if content.agrees(trace.marks_of(content.scheme))]
        if len(data) < wanted:
            covering = [content for content in alive if content.size > trace.size]
            if covering:
                return Match(covering[0], covered=True), trace
            break
        if trace.size < point:
            continue
        for content in alive:
            here = trace.digest_of(content.scheme)
            if content.resume == trace.size and here == content.resume_digest:
                best = Match(content, covered=False)
            if content.size == trace.size and here == content.digest and decoded.at_end():
                return Match(content, covered=True), trace
        alive = [content for content in alive if content.size > trace.size]
    if best is not None and best.content.resume == trace.size:
        decoded.forget()
        return best, trace
    decoded.rewind()
    if (best is None or best.content.resume <= len(fine)) and decoded.read(len(fine)) != fine:
        raise Refused(REWRITTEN)
    return best, None


def _skip(decoded: Decoded, content: Content) -> Trace:
    """Reads from the start to where the content ended. Refused: it is another file by now."""
    trace = Trace(plain=content.scheme == PLAIN)
    while trace.size < content.resume:
        data = decoded.read(min(BLOCK, content.resume - trace.size))
        if not data:
            break
        trace.feed(data)
    if trace.digest_of(content.scheme) != content.resume_digest:
        raise Refused(REWRITTEN)
    trace.leave_plain()
    return trace
