"""Reads the file of a foreign format. What is wrong in it is said with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ingest.errors import InputError
from ingest.formats.check import check_sql
from ingest.formats.source import ADVICE, Source
from ingest.formats.spec import Foreign, Format, Layout, Recognition, Rows, Split, Splitting, canonical_of

KINDS: tuple[Split, ...] = ("json", "csv", "pairs", "regex", "cells")
#: The tables and keys of a format file.
KNOWN = {
    "": {"name", "title", "zone", "split", "recognise", "macros", "rows"},
    "split": {"kind", "columns", "unset", "empty", "prefix", "parts", "separator", "layout", "documents"},
    "split.layout": {"name", "columns"},
    "recognise": {"keys", "exact", "line"},
    "rows": {"event", "when", "each", "unknown", "joins", "columns"},
}
#: What a kind of split cannot do without.
NEEDED = {
    "json": ("columns",),
    "csv": ("columns",),
    "pairs": ("columns",),
    "regex": ("parts",),
    "cells": ("separator", "layout"),
}
#: In a layout, the name of cells that nothing reads.
NO_COLUMN = "_"
#: Look-around, references to groups, atomic groups: what a pattern of the engine cannot have.
LOOKS = re.compile(r"\(\?(?:[=!>]|<[=!]|P=|\()|\\[1-9]")
_TOML_LINE = re.compile(r"line (\d+)")


def read_foreign(path: Path, native: Format, *, plan: bool = True) -> Foreign:
    """The format that the file at `path` describes; raises InputError with the line of what is wrong.

    Its SQL is tried only with `plan`: that takes longer than a small load.
    """
    try:
        source = Source(path, path.read_text(encoding="utf-8"))
        data = tomllib.loads(source.text)
    except (UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: cannot be read as a format file: {error}{ADVICE}") from None
    except tomllib.TOMLDecodeError as error:
        line = _TOML_LINE.search(str(error))
        raise InputError(f"{path}, line {line[1] if line else '?'}: no TOML: {error}{ADVICE}") from None
    _check_names(source, data)
    rows = tuple(_rows(source, native, item, nth) for nth, item in enumerate(data["rows"]))
    fmt = Foreign(
        name=_text(source, data, "", "name"),
        title=_text(source, data, "", "title"),
        path=path,
        splitting=_splitting(source, data["split"]),
        recognition=_recognition(source, data["recognise"]),
        rows=rows,
        canonical=canonical_of(native, rows),
        macros=_texts_of(source, data.get("macros", {}), "macros"),
        zone=_zone(source, data),
        other_kinds=tuple(_kinds(source, data["split"])[1:]),
    )
    if plan:
        check_sql(source, fmt)
    return fmt


def _check_names(source: Source, data: Mapping[str, Any]) -> None:
    for key in data.keys() - KNOWN[""]:
        line = source.line_of(key) if isinstance(data[key], (dict, list)) else source.line_of("", key)
        source.fail(line, f"unknown name {key!r}; known here: {', '.join(sorted(KNOWN['']))}")
    for key in ("name", "title", "split", "recognise", "rows"):
        if key not in data:
            source.fail(1, f"`{key}` is missing")
    parts = [("", data, 0), ("split", data["split"], 0), ("recognise", data["recognise"], 0)]
    if not isinstance(data["rows"], list) or not data["rows"]:
        source.fail(source.line_of("rows"), "`rows` must be one or more tables [[rows]]")
    parts += [("rows", item, nth) for nth, item in enumerate(data["rows"])]
    for table, item, nth in parts:
        if not isinstance(item, dict):
            source.fail(source.line_of("", table), f"`{table}` must be a table")
        for key in item.keys() - KNOWN[table]:
            line = source.line_of(table, key, nth)
            source.fail(line, f"unknown key {key!r}; known here: {', '.join(sorted(KNOWN[table]))}")


def _kinds(source: Source, data: Mapping[str, Any]) -> list[Split]:
    given = data.get("kind")
    kinds: list[Split] = given if isinstance(given, list) and given else [given]  # type: ignore[list-item]
    if not set(kinds) <= set(KINDS):
        source.fail(source.line_of("split", "kind"), f"`kind` must be one of {', '.join(KINDS)}")
    if len(kinds) > 1 and not set(kinds) <= {"json", "pairs"}:
        source.fail(source.line_of("split", "kind"), "only json and pairs may be kinds of one format")
    return kinds


def _splitting(source: Source, data: Mapping[str, Any]) -> Splitting:
    kind = _kinds(source, data)[0]
    prefix = _text(source, data, "split", "prefix", default="")
    parts = tuple(_list(source, data, "split", "parts"))
    columns: dict[str, tuple[str, ...]] = {}
    patterns = [(prefix, source.line_of("split", "prefix"), "prefix")]
    patterns += [(part, source.line_of_item("split", "parts", nth), "parts") for nth, part in enumerate(parts)]
    for pattern, line, key in patterns:
        for group in _groups(source, pattern, line, key):
            if group in columns:
                source.fail(line, f"`{key}`: two groups have the name {group}")
            columns[group] = (group,)
    table = data.get("columns", {})
    if not isinstance(table, dict):
        source.fail(source.line_of("split", "columns"), "`columns` must be a table: column = key")
    for name, path in table.items():
        keys = path if isinstance(path, list) else path.split(".") if kind == "json" else [path]
        if not keys or not all(isinstance(key, str) and key for key in keys):
            source.fail(source.line_of("split.columns", name), f"`{name}` must name a key")
        columns[name] = tuple(keys)
    layouts = _layouts(source, data.get("layout", []))
    columns.update({name: (name,) for layout in layouts for name in layout.columns if name != NO_COLUMN})
    if layouts:
        columns["layout"] = ("layout",)
    _check_keys(source, data, kind)
    return Splitting(
        kind,
        columns,
        unset=tuple(_list(source, data, "split", "unset")),
        empty=_text(source, data, "split", "empty", default=""),
        prefix=prefix,
        parts=parts,
        separator=_text(source, data, "split", "separator", default="\t"),
        layouts=layouts,
        documents=bool(data.get("documents", False)),
    )


def _layouts(source: Source, data: object) -> tuple[Layout, ...]:
    """The layouts of cells; each is told from the others by its name and by how many columns it has."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        source.fail(source.line_of("split", "layout"), "`layout` must be one or more tables [[split.layout]]")
    layouts: list[Layout] = []
    for nth, item in enumerate(data):
        for key in item.keys() - KNOWN["split.layout"]:
            line = source.line_of("split.layout", key, nth)
            source.fail(line, f"unknown key {key!r}; known here: {', '.join(sorted(KNOWN['split.layout']))}")
        name = _text(source, item, "split.layout", "name", nth)
        columns = tuple(_list(source, item, "split.layout", "columns", nth))
        place = source.line_of("split.layout", "columns", nth)
        named = [column for column in columns if column != NO_COLUMN]
        if len(set(named)) < len(named):
            source.fail(place, f"a column of the layout {name} stands there twice")
        if any(len(columns) == len(other.columns) for other in layouts):
            source.fail(place, "two layouts have as many columns: they could not be told apart")
        if any(name == other.name for other in layouts):
            source.fail(source.line_of("split.layout", "name", nth), "two layouts have one name")
        layouts.append(Layout(name, columns))
    return tuple(layouts)


def _check_keys(source: Source, data: Mapping[str, Any], kind: str) -> None:
    """Whether what this kind needs is there, and nothing that only others have."""
    needed = NEEDED[kind]
    for key in needed:
        if key not in data:
            source.fail(source.line_of("split"), f"`{key}` is missing, which the kind {kind} needs")
    for key in {"parts", "layout", "separator", "columns"} & data.keys() - set(needed):
        source.fail(source.line_of("split", key), f"`{key}` means nothing for the kind {kind}")
    if "prefix" in data and kind not in ("json", "pairs"):
        source.fail(source.line_of("split", "prefix"), f"`prefix` means nothing for the kind {kind}")


def _groups(source: Source, pattern: str, line: int, key: str) -> list[str]:
    """The named groups of a pattern; groups without a name would shift those that the engine counts."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        source.fail(line, f"`{key}`: no regular expression: {error} in {pattern!r}")
    if compiled.groups != len(compiled.groupindex):
        source.fail(line, f"`{key}`: write (?:...) for groups without a name, in {pattern!r}")
    if LOOKS.search(pattern):
        source.fail(line, f"`{key}`: the engine has no look-around and no references to groups")
    return list(compiled.groupindex)


def _recognition(source: Source, data: Mapping[str, Any]) -> Recognition:
    line = _text(source, data, "recognise", "line", default="")
    if line:
        try:
            re.compile(line)
        except re.error as error:
            source.fail(source.line_of("recognise", "line"), f"`line`: no regular expression: {error}")
    found = Recognition(
        keys=_key_sets(source, data, "keys"),
        exact=_key_sets(source, data, "exact"),
        line=line,
    )
    if found == Recognition():
        source.fail(source.line_of("recognise"), "one of `keys`, `exact` and `line` must be given")
    return found


def _key_sets(source: Source, data: Mapping[str, Any], key: str) -> tuple[frozenset[str], ...]:
    sets = data.get(key, [])
    if not isinstance(sets, list) or not all(
        isinstance(item, list) and item and all(isinstance(name, str) for name in item) for item in sets
    ):
        line = source.line_of("recognise", key)
        source.fail(line, f'`{key}` must be a list of lists of keys: [["this", "and this"]]')
    return tuple(frozenset(item) for item in sets)


def _rows(source: Source, native: Format, data: Mapping[str, Any], nth: int) -> Rows:
    canonical = canonical_of(native, ())
    event = data.get("event")
    relation = canonical.by_event.get(event) if isinstance(event, str) else None
    if relation is None or not isinstance(event, str):
        line = source.line_of("rows", "event", nth)
        source.fail(line, f"`event` must be one of {', '.join(canonical.by_event)}")
    keys = {field.key: field for field in relation.fields}
    columns = _texts_of(source, data.get("columns", {}), "rows.columns", nth)
    unknown = tuple(_list(source, data, "rows", "unknown", nth))
    for key in [*columns, *unknown]:
        if key not in keys:
            place = ("rows.columns", key) if key in columns else ("rows", "unknown")
            source.fail(source.line_of(*place, nth), f"{event} has no key {key!r}; it has {', '.join(keys)}")
    missing = [key for key, field in keys.items() if field.required and key not in columns and key not in unknown]
    if missing:
        source.fail(source.line_of("rows", "", nth), f"{event} needs {', '.join(missing)}")
    joins = data.get("joins", True)
    if not isinstance(joins, bool):
        source.fail(source.line_of("rows", "joins", nth), "`joins` must be true or false")
    return Rows(
        event,
        columns,
        when=_text(source, data, "rows", "when", nth, default=""),
        each=_text(source, data, "rows", "each", nth, default=""),
        unknown=unknown,
        joins=joins,
    )


def _zone(source: Source, data: Mapping[str, Any]) -> str | None:
    zone = _text(source, data, "", "zone", default="")
    if zone:
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            source.fail(source.line_of("", "zone"), f"`zone`: no time zone {zone!r}; write Area/City")
    return zone or None


def _text(
    source: Source, data: Mapping[str, Any], table: str, key: str, nth: int = 0, *, default: str | None = None
) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        what = "is missing" if value is None else "must be a text"
        source.fail(source.line_of(table, key if key in data else "", nth), f"`{key}` {what}")
    return value


def _list(source: Source, data: Mapping[str, Any], table: str, key: str, nth: int = 0) -> list[str]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        source.fail(source.line_of(table, key, nth), f"`{key}` must be a list of texts")
    return value


def _texts_of(source: Source, data: object, table: str, nth: int = 0) -> dict[str, str]:
    if not isinstance(data, dict):
        source.fail(source.line_of(table, "", nth), f"`{table}` must be a table: name = SQL")
    for key, value in data.items():
        if not isinstance(value, str):
            source.fail(source.line_of(table, key, nth), f"`{key}` must be an SQL expression in quotes")
    return dict(data)
