"""Reads the file of a foreign format. What is wrong in it is said with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

import duckdb

from ingest.errors import InputError
from ingest.formats.spec import Foreign, Format, Layout, Recognition, Rows, Split, Splitting, canonical_of

KINDS: tuple[Split, ...] = ("json", "csv", "pairs", "regex", "cells")
#: The tables and keys of a format file.
KNOWN = {
    "": {"name", "title", "zone", "split", "recognise", "macros", "rows"},
    "split": {"kind", "columns", "unset", "empty", "prefix", "parts", "separator", "layout", "documents"},
    "split.layout": {"name", "columns"},
    "recognise": {"keys", "exact", "line"},
    "rows": {"event", "when", "each", "unknown", "columns"},
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
ADVICE = "; see the README beside the formats that ship, ingest/formats/README.md"
#: Look-around, references to groups, atomic groups: what a pattern of the engine cannot have.
LOOKS = re.compile(r"\(\?(?:[=!>]|<[=!]|P=|\()|\\[1-9]")
_TOML_LINE = re.compile(r"line (\d+)")


@dataclass(frozen=True)
class _Source:
    """The text of a format file, to tell where something stands."""

    path: Path
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def line_of(self, table: str, key: str = "", nth: int = 0) -> int:
        """The line of `key` in the `nth` table of this name (of the table itself without a key), from 1."""
        start = 0
        if table:
            heads = [n for n, line in enumerate(self.lines) if line.strip().strip("[]").strip() == table]
            start = heads[min(nth, len(heads) - 1)] if heads else 0
        if not key:
            return start + 1
        found = re.compile(rf'\s*(?:"{re.escape(key)}"|{re.escape(key)})\s*=')
        return next((n + 1 for n in range(start, len(self.lines)) if found.match(self.lines[n])), start + 1)

    def fail(self, line: int, why: str) -> NoReturn:
        raise InputError(f"{self.path}, line {line}: {why}{ADVICE}")


def read_foreign(path: Path, native: Format, *, plan: bool = True) -> Foreign:
    """The format that the file at `path` describes; raises InputError with the line of what is wrong.

    Its SQL is tried only with `plan`: that takes longer than a small load.
    """
    try:
        source = _Source(path, path.read_text(encoding="utf-8"))
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
        _check_sql(source, fmt)
    return fmt


def _check_names(source: _Source, data: Mapping[str, Any]) -> None:
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


def _kinds(source: _Source, data: Mapping[str, Any]) -> list[Split]:
    given = data.get("kind")
    kinds: list[Split] = given if isinstance(given, list) and given else [given]  # type: ignore[list-item]
    if not set(kinds) <= set(KINDS):
        source.fail(source.line_of("split", "kind"), f"`kind` must be one of {', '.join(KINDS)}")
    if len(kinds) > 1 and not set(kinds) <= {"json", "pairs"}:
        source.fail(source.line_of("split", "kind"), "only json and pairs may be kinds of one format")
    return kinds


def _splitting(source: _Source, data: Mapping[str, Any]) -> Splitting:
    kind = _kinds(source, data)[0]
    prefix = _text(source, data, "split", "prefix", default="")
    parts = tuple(_list(source, data, "split", "parts"))
    groups = [
        *_groups(source, prefix, "prefix"),
        *(group for part in parts for group in _groups(source, part, "parts")),
    ]
    columns = {name: (name,) for name in groups}
    if len(columns) < len(groups):
        source.fail(source.line_of("split", "parts"), "two groups of the pattern have one name")
    table = data.get("columns", {})
    if not isinstance(table, dict):
        source.fail(source.line_of("split", "columns"), "`columns` must be a table: column = key")
    for name, path in table.items():
        keys = path if isinstance(path, list) else path.split(".") if kind == "json" else [path]
        if not keys or not all(isinstance(key, str) and key for key in keys):
            source.fail(source.line_of("split.columns", name), f"`{name}` must name a key")
        columns[name] = tuple(keys)
    layouts = tuple(
        Layout(_text(source, item, "split.layout", "name"), tuple(_list(source, item, "split.layout", "columns")))
        for item in data.get("layout", [])
    )
    sizes = [len(layout.columns) for layout in layouts]
    if len(set(sizes)) < len(sizes):
        source.fail(source.line_of("split.layout"), "two layouts have as many columns: they could not be told apart")
    for layout in layouts:
        named = [name for name in layout.columns if name != NO_COLUMN]
        if len(set(named)) < len(named):
            source.fail(source.line_of("split.layout"), f"a column of the layout {layout.name} stands there twice")
    columns.update({name: (name,) for layout in layouts for name in layout.columns if name != NO_COLUMN})
    if layouts:
        columns["layout"] = ("layout",)
    _check_keys(source, data, kind)
    if len({layout.name for layout in layouts}) < len(layouts):
        source.fail(source.line_of("split.layout"), "two layouts have one name")
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


def _check_keys(source: _Source, data: Mapping[str, Any], kind: str) -> None:
    """Whether what this kind needs is there, and nothing that only others have."""
    needed = NEEDED[kind]
    for key in needed:
        if key not in data:
            source.fail(source.line_of("split"), f"`{key}` is missing, which the kind {kind} needs")
    for key in {"parts", "layout", "separator", "columns"} & data.keys() - set(needed):
        source.fail(source.line_of("split", key), f"`{key}` means nothing for the kind {kind}")
    if "prefix" in data and kind not in ("json", "pairs"):
        source.fail(source.line_of("split", "prefix"), f"`prefix` means nothing for the kind {kind}")


def _groups(source: _Source, pattern: str, key: str) -> list[str]:
    """The named groups of a pattern; groups without a name would shift those that the engine counts."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        source.fail(source.line_of("split", key), f"`{key}`: no regular expression: {error} in {pattern!r}")
    if compiled.groups != len(compiled.groupindex):
        source.fail(source.line_of("split", key), f"`{key}`: write (?:...) for groups without a name, in {pattern!r}")
    if LOOKS.search(pattern):
        source.fail(source.line_of("split", key), f"`{key}`: the engine has no look-around and no references to groups")
    return list(compiled.groupindex)


def _recognition(source: _Source, data: Mapping[str, Any]) -> Recognition:
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


def _key_sets(source: _Source, data: Mapping[str, Any], key: str) -> tuple[frozenset[str], ...]:
    sets = data.get(key, [])
    if not isinstance(sets, list) or not all(
        isinstance(item, list) and item and all(isinstance(name, str) for name in item) for item in sets
    ):
        line = source.line_of("recognise", key)
        source.fail(line, f'`{key}` must be a list of lists of keys: [["this", "and this"]]')
    return tuple(frozenset(item) for item in sets)


def _rows(source: _Source, native: Format, data: Mapping[str, Any], nth: int) -> Rows:
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
    return Rows(
        event,
        columns,
        when=_text(source, data, "rows", "when", nth, default=""),
        each=_text(source, data, "rows", "each", nth, default=""),
        unknown=unknown,
    )


def _check_sql(source: _Source, fmt: Foreign) -> None:
    """Lets the engine plan every expression over no records."""
    from ingest.rows.mapping import declare_macros, mapped_rows

    con = duckdb.connect()
    try:
        for name, definition in declare_macros(fmt.macros).items():
            _try(source, con, definition, source.line_of("macros", name), f"the macro {name}")
        listed = ", ".join(f"cast(null as varchar) as {_name(name)}" for name in fmt.splitting.columns)
        records = f"(select 0 as line_no, false as suspect, true as exact, {listed} where false)"
        for part, nth in _numbered(fmt.rows):
            bare = Rows(part.event, {})
            if part.each:
                bare = Rows(part.event, {}, each=part.each)
                _try(source, con, mapped_rows(bare, records), source.line_of("rows", "each", nth), "`each`")
            when = Rows(part.event, {}, when=part.when, each=part.each)
            _try(source, con, mapped_rows(when, records), source.line_of("rows", "when", nth), "`when`")
            for key, expression in part.columns.items():
                one = Rows(part.event, {key: expression}, each=part.each)
                _try(source, con, mapped_rows(one, records), source.line_of("rows.columns", key, nth), f"`{key}`")
    finally:
        con.close()


def _try(source: _Source, con: duckdb.DuckDBPyConnection, sql: str, line: int, what: str) -> None:
    try:
        con.execute(sql)
    except duckdb.Error as error:
        source.fail(line, f"{what}: {str(error).splitlines()[0]}")


def _numbered(rows: Sequence[Rows]) -> Sequence[tuple[Rows, int]]:
    return [(part, nth) for nth, part in enumerate(rows)]


def _zone(source: _Source, data: Mapping[str, Any]) -> str | None:
    zone = _text(source, data, "", "zone", default="")
    if zone:
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            source.fail(source.line_of("", "zone"), f"`zone`: no time zone {zone!r}; write Area/City")
    return zone or None


def _text(
    source: _Source, data: Mapping[str, Any], table: str, key: str, nth: int = 0, *, default: str | None = None
) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        what = "is missing" if value is None else "must be a text"
        source.fail(source.line_of(table, key if key in data else "", nth), f"`{key}` {what}")
    return value


def _list(source: _Source, data: Mapping[str, Any], table: str, key: str, nth: int = 0) -> list[str]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        source.fail(source.line_of(table, key, nth), f"`{key}` must be a list of texts")
    return value


def _texts_of(source: _Source, data: object, table: str, nth: int = 0) -> dict[str, str]:
    if not isinstance(data, dict):
        source.fail(source.line_of(table, "", nth), f"`{table}` must be a table: name = SQL")
    for key, value in data.items():
        if not isinstance(value, str):
            source.fail(source.line_of(table, key, nth), f"`{key}` must be an SQL expression in quotes")
    return dict(data)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
