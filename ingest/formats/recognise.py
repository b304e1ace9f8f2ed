"""Whether the first bytes of a file are of a foreign format."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator

from ingest.formats.spec import Foreign, State
from ingest.rows.raw import Raw, read_documents
from ingest.rows.record import BOM, Reject, read_object, strip_line

_PAIR_KEY = re.compile(r"(?:^|\s)([\w.$-]+)=")


def fits_foreign(fmt: Foreign, head: bytes, most_lines: int) -> State | None:
    """How a file that begins with `head` is read as `fmt`, judged by its first lines; None where none fits."""
    kinds = (fmt.splitting.kind, *fmt.other_kinds)
    return next((state for kind in kinds if (state := _fits(fmt.split_as(kind), head, most_lines)) is not None), None)


def _fits(fmt: Foreign, head: bytes, most_lines: int) -> State | None:
    recognition, kind = fmt.recognition, fmt.splitting.kind
    if kind == "csv":
        state = read_header(head)
        return state if state is not None and _has(fmt, state.header) else None
    lines = [line for line in head.split(b"\n", most_lines)[:most_lines] if strip_line(line)]
    texts = [line.removeprefix(BOM).rstrip(b"\r").decode("utf-8", "replace") for line in lines]
    if recognition.line and any(re.search(recognition.line, text) for text in texts):
        return State(kind)
    if kind == "pairs" and any(_has(fmt, _PAIR_KEY.findall(text)) for text in texts):
        return State(kind)
    if kind == "json":
        if any(_has(fmt, keys) for keys in _objects(fmt, texts)):
            return State(kind)
        if fmt.splitting.documents and _is_document(fmt, head):
            return State("document")
    return None


def open_foreign(fmt: Foreign, head: bytes, most_lines: int) -> State:
    """As `fits_foreign` for a format that the user named: what does not fit will be rejects."""
    state = fits_foreign(fmt, head, most_lines)
    if state is not None:
        return state
    if fmt.splitting.kind == "csv":
        return read_header(head) or State("csv")
    kinds = (fmt.splitting.kind, *fmt.other_kinds)
    looks_json = head.removeprefix(BOM).lstrip()[:1] == b"{"
    return State("json" if looks_json and "json" in kinds else kinds[-1] if not looks_json else kinds[0])


def read_header(head: bytes) -> State | None:
    """The header of a CSV file: its first record; None where that is not whole."""
    line, end, _ = head.partition(b"\n")
    try:
        cells = next(csv.reader([line.removeprefix(BOM).decode("utf-8")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return None
    return State("csv", tuple(cell.strip() for cell in cells), len(line) + len(end))


def _has(fmt: Foreign, keys: Collection[str]) -> bool:
    found = frozenset(keys)
    return any(wanted <= found for wanted in fmt.recognition.keys) or found in fmt.recognition.exact


def _objects(fmt: Foreign, texts: list[str]) -> Iterator[Collection[str]]:
    """The keys of the objects among the lines, each behind the format's prefix."""
    for text in texts:
        match = re.match(fmt.splitting.prefix, text)
        if match is None:
            continue
        try:
            yield read_object(text[match.end() :].encode("utf-8", "replace")).keys()
        except Reject:
            continue


def _is_document(fmt: Foreign, head: bytes) -> bool:
    """Whether an object that extends over lines begins here; it may be longer than `head`."""
    raw = next(read_documents(head.removeprefix(BOM)), Raw(0, 0, b""))
    if not raw.data.startswith(b"{"):
        return False
    try:
        return _has(fmt, read_object(raw.data).keys())
    except Reject:
        names = re.findall(rb'^\s{0,8}"([^"\\]+)"\s*:', raw.data, re.MULTILINE)
        return b"\n" in raw.data and _has(fmt, [name.decode("utf-8", "replace") for name in names[:1]])
