"""Takes up a log that grew where its last reading ended, without reading it all again.

A log that is loaded every minute grows by a little. The file of the same name, device and inode that is at least as
long as what was read of it is taken for grown when these of its bytes are as they were: the first 256 KiB; the last
whole chunk, and all behind it up to where the reading ended; and SAMPLES chunks between, others as it grows. So a log
that was emptied and filled again, another file with a used inode, and bytes put in or taken out are always seen. What
may not be is a middle overwritten in place by as many bytes. With any doubt the file is compared whole.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

from ingest.sources.decode import Decoded
from ingest.sources.known import Content, Known
from ingest.sources.marks import CHAINED, CHUNK, FINE_BYTES, MARK_BYTES, SMALL_CHUNK, Trace, digest
from ingest.sources.match import Match

SAMPLES = 16
#: Below this a whole reading costs no more.
LEAST_BYTES = 8 << 20
_HEAD_MARKS = CHUNK // SMALL_CHUNK


def take_up(decoded: Decoded, known: Known, name: str | None) -> tuple[Match, Trace] | None:
    """The content of this name that goes on here, with `decoded` left where it ended; None where that is not sure."""
    if decoded.compressed or name is None:
        return None
    for content in sorted(_candidates(decoded, known, name), key=lambda content: -content.resume):
        trace = _verified(decoded, known, content)
        if trace is not None:
            decoded.skip_to(content.resume)
            return Match(content, covered=decoded.stat.st_size == content.size), trace
    return None


def _candidates(decoded: Decoded, known: Known, name: str) -> Iterator[Content]:
    """Contents that the file of this name may have grown from; one that did not grow is as it was, by its times."""
    now = decoded.stat
    for content in known.named(name, "lines"):
        seen = content.names[name]
        if seen is None or content.scheme != CHAINED or content.size > content.resume or content.size < LEAST_BYTES:
            continue
        if (seen.device, seen.inode) != (now.st_dev, now.st_ino) or now.st_size < content.size:
            continue
        if now.st_size > seen.size or (seen.mtime_ns, seen.ctime_ns) == (now.st_mtime_ns, now.st_ctime_ns):
            yield content


def _verified(decoded: Decoded, known: Known, content: Content) -> Trace | None:
    """The trace at the end of `content`, where the file's bytes up to there are as they were."""
    whole = content.resume // CHUNK
    marks = content.chunk_marks[: (_HEAD_MARKS + whole - 1) * MARK_BYTES]
    head = decoded.look(0, CHUNK)
    if digest(head)[:MARK_BYTES] != _mark(marks, 0) or _goes_further(known, content, marks):
        return None
    for number in (*_sampled(content, whole - 1), whole - 1):
        if digest(decoded.look(number * CHUNK, CHUNK))[:MARK_BYTES] != _mark(marks, number):
            return None
    rest = decoded.look(whole * CHUNK, content.resume - whole * CHUNK)
    trace = Trace.taken_up(head[:FINE_BYTES], marks, content.chain, rest)
    return trace if trace.digest() == content.resume_digest else None


def _mark(marks: bytes, number: int) -> bytes:
    """The mark of the chunk with this number; that of the first covers all of its KiBs."""
    at = (_HEAD_MARKS + number - 1) * MARK_BYTES
    return marks[at : at + MARK_BYTES]


def _sampled(content: Content, until: int) -> list[int]:
    """Numbers of chunks behind the first and before `until`, one of each of SAMPLES stretches."""
    draw = random.Random(content.resume_digest)
    edges = [1 + (until - 1) * number // SAMPLES for number in range(SAMPLES + 1)]
    return [draw.randrange(lo, hi) for lo, hi in pairwise(edges) if lo < hi]


def _goes_further(known: Known, content: Content, marks: bytes) -> bool:
    """Whether a longer content begins like this one: of two known beginnings the longer counts."""
    return any(
        other is not content and other.size >= content.resume and (other.scheme != CHAINED or other.agrees(marks))
        for other in known.starting(marks, "lines")
    )
