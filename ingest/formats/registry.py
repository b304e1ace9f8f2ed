"""Find, read and guess formats. A guess is said aloud and never silently wrong: none or two that fit is a refusal."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ingest.errors import InputError, Refused
from ingest.formats.spec import Field, Format, Relation, State
from ingest.rows.record import BOM, Reject, read_object, strip_line

FOLDER = Path(__file__).parent
#: Lines that a guess looks at; the first of a log may be damaged.
GUESS_LINES = 200
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@cache
def list_formats() -> tuple[Format, ...]:
    """The formats that ship with the product, by name."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.toml")))


def load_format(name: str) -> Format:
    """The format of this name, or of the file at this path; InputError lists the choices."""
    for fmt in list_formats():
        if fmt.name == name:
            return fmt
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        return _read(path)
    raise InputError(f"no format {name!r}; choose one of {_names()}, or give the path of a .toml file")


def guess(head: bytes) -> tuple[Format, State] | None:
    """The one format that fits the decoded first bytes of a file, None where they hold nothing but blanks.

    Raises Refused with the choices where none fits, or more than one.
    """
    if head.startswith(UTF16):
        raise Refused("looks like UTF-16; convert it to UTF-8 and load it again")
    if not any(strip_line(line) for line in head.splitlines()):
        return None
    return _only((fmt, state) for fmt in list_formats() if (state := fit(fmt, head)) is not None)


def guess_columns(columns: Sequence[str]) -> tuple[Format, State]:
    """The one format whose keys are among the columns of a Parquet file; raises Refused with the choices."""
    state = State("parquet")
    return _only((fmt, state) for fmt in list_formats() if "parquet" in fmt.split and _has(fmt, columns))


def fit(fmt: Format, head: bytes) -> State | None:
    """How a file that begins with `head` is read as `fmt`; None where it does not fit."""
    if "json" in fmt.split and any(_has(fmt, keys) for keys in _objects(head)):
        return State("json")
    if "csv" in fmt.split:
        state = read_header(head)
        if state is not None and _has(fmt, state.header):
            return state
    return None


def open_as(fmt: Format, head: bytes) -> State:
    """As `fit`, for a format that the user named; raises Refused."""
    if head.startswith(UTF16):
        raise Refused("looks like UTF-16; convert it to UTF-8 and load it again")
    if head.removeprefix(BOM).lstrip()[:1] == b"{" and "json" in fmt.split:
        return State("json")
    state = fit(fmt, head)
    if state is None:
        raise Refused(f"is not of the format {fmt.name}")
    return state


def read_header(head: bytes) -> State | None:
    """The header of a CSV file: its first record; None where that is not whole."""
    line, end, _ = head.partition(b"\n")
    try:
        cells = next(csv.reader([line.removeprefix(BOM).decode("utf-8")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return None
    return State("csv", tuple(cell.strip() for cell in cells), len(line) + len(end))


def _objects(head: bytes) -> Iterable[dict[str, object]]:
    for line in head.split(b"\n", GUESS_LINES)[:GUESS_LINES]:
        try:
            yield read_object(line)
        except Reject:
            continue


def _has(fmt: Format, keys: Iterable[str]) -> bool:
    return set(fmt.recognise) <= set(keys)


def _only(fits: Iterable[tuple[Format, State]]) -> tuple[Format, State]:
    found = list(fits)
    if len(found) == 1:
        return found[0]
    if not found:
        raise Refused(f"fits no known format; name one with --format: {_names()}")
    raise Refused(f"fits more than one format; name one with --format: {', '.join(fmt.name for fmt, _ in found)}")


def _names() -> str:
    return ", ".join(fmt.name for fmt in list_formats())


def _read(path: Path) -> Format:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return Format(
            name=data["name"],
            title=data["title"],
            split=tuple(data["split"]),
            recognise=tuple(data["recognise"]),
            kind=data["kind"],
            relations=tuple(_relation(item) for item in data["relation"]),
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no format file ({error}); see {FOLDER / 'native.toml'} for the shape") from None


def _relation(data: dict[str, Any]) -> Relation:
    columns = data.get("column", {})
    fields = [
        Field(key, kind, columns.get(key, key), required)
        for part, required in (("required", True), ("optional", False))
        for key, kind in data.get(part, {}).items()
    ]
    return Relation(data["name"], tuple(data["events"]), tuple(fields), columns.get("event"))
