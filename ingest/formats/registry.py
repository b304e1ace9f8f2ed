"""Find, read and guess formats. A guess is said aloud and never silently wrong: none or two that fit is a refusal."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ingest.errors import InputError, Refused
from ingest.formats.foreign import read_foreign
from ingest.formats.recognise import fits_foreign, open_foreign, read_header
from ingest.formats.spec import AnyFormat, Field, Foreign, Format, Relation, State
from ingest.rows.record import BOM, Reject, read_object, strip_line

FOLDER = Path(__file__).parent
#: Lines that a guess looks at; the first of a log may be damaged.
GUESS_LINES = 200
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@cache
def native_format() -> Format:
    """The format of the canonical events themselves."""
    return _read(FOLDER / "native.toml")


@cache
def list_formats() -> tuple[AnyFormat, ...]:
    """The formats that ship with the product: the native one, then the others by name."""
    foreign = sorted(path for path in FOLDER.glob("*.toml") if path.stem != native_format().name)
    return (native_format(), *(read_foreign(path, native_format(), plan=False) for path in foreign))


def load_format(name: str) -> AnyFormat:
    """The format of this name, or of the file at this path; InputError lists the choices."""
    for fmt in list_formats():
        if fmt.name == name:
            return fmt
    path = Path(name)
    if path.is_file():
        return read_foreign(path, native_format())
    raise InputError(f"no format {name!r}; choose one of {_names()}, or give the path of a format file")


def guess(head: bytes) -> tuple[AnyFormat, State] | None:
    """The one format that fits the decoded first bytes of a file, None where they hold nothing but blanks.

    Raises Refused with the choices where none fits, or more than one.
    """
    if head.startswith(UTF16):
        raise Refused("looks like UTF-16; convert it to UTF-8 and load it again")
    if not any(strip_line(line) for line in head.splitlines()):
        return None
    return _only((fmt, state) for fmt in list_formats() if (state := fit(fmt, head)) is not None)


def guess_columns(columns: Sequence[str]) -> Format:
    """The native format, where its keys are among the columns of a Parquet file; raises Refused."""
    if _has(native_format(), columns):
        return native_format()
    raise Refused("is Parquet, but without the columns of the native format")


def fit(fmt: AnyFormat, head: bytes) -> State | None:
    """How a file that begins with `head` is read as `fmt`; None where it does not fit."""
    if isinstance(fmt, Foreign):
        return fits_foreign(fmt, head, GUESS_LINES)
    if "json" in fmt.split and any(_has(fmt, keys) for keys in _objects(head)):
        return State("json")
    if "csv" in fmt.split:
        state = read_header(head)
        if state is not None and _has(fmt, state.header):
            return state
    return None


def open_as(fmt: AnyFormat, head: bytes) -> State:
    """As `fit`, for a format that the user named; raises Refused."""
    if head.startswith(UTF16):
        raise Refused("looks like UTF-16; convert it to UTF-8 and load it again")
    if isinstance(fmt, Foreign):
        return open_foreign(fmt, head, GUESS_LINES)
    if head.removeprefix(BOM).lstrip()[:1] == b"{" and "json" in fmt.split:
        return State("json")
    state = fit(fmt, head)
    if state is None:
        raise Refused(f"is not of the format {fmt.name}")
    return state


def _objects(head: bytes) -> Iterable[dict[str, object]]:
    for line in head.split(b"\n", GUESS_LINES)[:GUESS_LINES]:
        try:
            yield read_object(line)
        except Reject:
            continue


def _has(fmt: Format, keys: Iterable[str]) -> bool:
    return set(fmt.recognise) <= set(keys)


def _only(fits: Iterable[tuple[AnyFormat, State]]) -> tuple[AnyFormat, State]:
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
        relations = tuple(_relation(item) for item in data["relation"])
        return Format(
            name=data["name"],
            title=data["title"],
            split=tuple(data["split"]),
            recognise=tuple(data["recognise"]),
            kind=data["kind"],
            relations=tuple(
                replace(relation, fields=tuple(field for field in relation.fields if not field.foreign))
                for relation in relations
            ),
            foreign_relations=relations,
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no format file ({error}); see {FOLDER / 'native.toml'} for the shape") from None


def _relation(data: dict[str, Any]) -> Relation:
    columns = data.get("column", {})
    fields = [
        Field(key, kind, columns.get(key, key), required=part == "required", foreign=part == "foreign")
        for part in ("required", "optional", "foreign")
        for key, kind in data.get(part, {}).items()
    ]
    return Relation(data["name"], tuple(data["events"]), tuple(fields), columns.get("event"))
