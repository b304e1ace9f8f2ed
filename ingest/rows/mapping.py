"""The SQL of a foreign format: its records as text columns, and these as the keys of native events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ingest.formats.spec import Foreign, Rows, Splitting

#: What a group of the engine's match is called that holds all of it.
WHOLE = "whole match"
#: A line, cleared of its line end.
_LINE = "rtrim(line, chr(13) || chr(10))"
#: Key, and its value in quotes or without, of key=value pairs; what else stands between pairs is white space.
_PAIR = r"[\w.$-]+=(?:\"[^\"\\]*\"|[^\s\"]*)"
_PAIR_PARTS = r"([\w.$-]+)=(\"[^\"\\]*\"|[^\s\"]*)"


@cache
def common_macros() -> str:
    """The statements that create the macros which every format may use."""
    return Path(__file__).with_name("mapping.sql").read_text(encoding="utf-8")


def declare_macros(macros: Mapping[str, str]) -> dict[str, str]:
    """Macro -> the statements that create it; with the common ones under the empty name."""
    own = {name: f"create or replace temp macro {quote_name(name)} {definition}" for name, definition in macros.items()}
    return {"": common_macros(), **own}


def mapped_rows(rows: Rows, records: str) -> str:
    """Statement that gives the native keys of `records`, as texts, with event, item_no, line_no, suspect and exact."""
    source = records
    if rows.each:
        source = (
            "(select * exclude (items), unnest(items) as item, unnest(range(1, len(items) + 1)) as item_no"
            f" from (select *, ({rows.each}) as items from {records}))"
        )
    keys = [f"cast(({expression}) as varchar) as {quote_name(key)}" for key, expression in rows.columns.items()]
    where = f" where ({rows.when})" if rows.when else ""
    place = "item_no" if rows.each else "1 as item_no"
    listed = ", ".join([*keys, f"{quote_text(rows.event)} as event", place, "line_no", "suspect", "exact"])
    return f"select {listed} from {source}{where}"


def records_of(fmt: Foreign, lines: str, *, guarded: bool) -> str:
    """Statement that splits `lines` (line, line_no, suspect, exact) into the columns of `fmt`, one row a line at most.

    Unless `guarded` it fails where a line that should be JSON is none; with it such a line has no columns.
    """
    splitting = fmt.splitting
    columns, source = _SPLITS[splitting.kind](splitting, lines, guarded)
    listed = [f"{_unset(splitting, expression)} as {quote_name(name)}" for name, expression in columns.items()]
    return f"select {', '.join([*listed, 'line_no', 'suspect', 'exact'])} from {source}"


def _json(splitting: Splitting, lines: str, guarded: bool) -> tuple[dict[str, str], str]:
    groups, behind = _behind_prefix(splitting, lines)
    paths = {name: path for name, path in splitting.columns.items() if name not in groups}
    pointers = ", ".join(quote_text("".join(f"/{_escaped(key)}" for key in path)) for path in paths.values())
    extract = f"json_extract_string(rest, [{pointers}])"
    if guarded:
        extract = f"case when json_valid(rest) then {extract} end"
    texts = {name: f"cells[{at}]" for at, name in enumerate(paths, 1)}
    if splitting.empty:
        empty = quote_text(splitting.empty)
        texts = {name: f"case when {text} = '' then {empty} else {text} end" for name, text in texts.items()}
    columns = {**groups, **texts}
    return columns, f"(select *, {extract} as cells from {behind})"


def _pairs(splitting: Splitting, lines: str, guarded: bool) -> tuple[dict[str, str], str]:
    """Lines that do not consist of plain pairs throughout are suspect."""
    groups, behind = _behind_prefix(splitting, lines)
    found = f"regexp_extract_all(rest, {quote_text(_PAIR_PARTS)}, {{}})"
    split = f"(select *, {found.format(1)} as names, {found.format(2)} as texts from {behind})"
    columns = dict(groups)
    for name, (key,) in splitting.columns.items():
        if name not in groups:
            columns[name] = f"nullif(trim(texts[list_position(names, {quote_text(key)})], '\"'), '')"
    plain = quote_text(rf"\s*(?:{_PAIR}(?:\s+|$))*")
    suspect = f"suspect or rest is null or not regexp_full_match(rest, {plain})"
    return columns, f"(select * replace (({suspect}) as suspect) from {split})"


def _regex(splitting: Splitting, lines: str, guarded: bool) -> tuple[dict[str, str], str]:
    """Lines that do not match are suspect: a condition on the match would have the engine search twice."""
    pattern = "^(?P<whole>" + "".join(splitting.parts) + ")$"
    names = [WHOLE, *(name for name in re.compile(pattern).groupindex if name != "whole")]
    listed = ", ".join(map(quote_text, names))
    found = f"(select *, regexp_extract({_LINE}, {quote_text(pattern)}, [{listed}]) as found from {lines})"
    columns = {name: f"nullif(found.{quote_name(name)}, '')" for name in names[1:]}
    return columns, f"(select * replace ((suspect or found.{quote_name(WHOLE)} = '') as suspect) from {found})"


def _cells(splitting: Splitting, lines: str, guarded: bool) -> tuple[dict[str, str], str]:
    columns = {}
    for name in splitting.columns:
        places = [
            f"when {len(layout.columns)} then cells[{layout.columns.index(name) + 1}]"
            for layout in splitting.layouts
            if name in layout.columns
        ]
        columns[name] = f"nullif(case len(cells) {' '.join(places)} end, '')" if places else ""
    layouts = [f"when {len(layout.columns)} then {quote_text(layout.name)}" for layout in splitting.layouts]
    columns["layout"] = f"case len(cells) {' '.join(layouts)} end"
    sizes = ", ".join(str(len(layout.columns)) for layout in splitting.layouts)
    cut = f"(select *, string_split({_LINE}, {quote_text(splitting.separator)}) as cells from {lines})"
    return columns, f"(select * replace ((suspect or len(cells) not in ({sizes})) as suspect) from {cut})"


def _table(splitting: Splitting, lines: str, guarded: bool) -> tuple[dict[str, str], str]:
    """Rows that are columns already."""
    return {name: quote_name(name) for name in splitting.columns}, lines


_SPLITS = {"json": _json, "pairs": _pairs, "regex": _regex, "cells": _cells, "csv": _table}


def _behind_prefix(splitting: Splitting, lines: str) -> tuple[dict[str, str], str]:
    """The columns of the prefix, and the lines with what stands behind it as `rest` (null where it does not match)."""
    if not splitting.prefix:
        return {}, f"(select *, {_LINE} as rest from {lines})"
    names = [WHOLE, *re.compile(splitting.prefix).groupindex]
    listed = ", ".join(map(quote_text, names))
    pattern = quote_text(f"^({splitting.prefix})")
    rest = f"substr({_LINE}, length(found.{quote_name(WHOLE)}) + 1)"
    if re.match(splitting.prefix, "") is None:
        rest = f"case when found.{quote_name(WHOLE)} <> '' then {rest} end"
    source = (
        f"(select *, {rest} as rest from"
        f" (select *, regexp_extract({_LINE}, {pattern}, [{listed}]) as found from {lines}))"
    )
    return {name: f"nullif(found.{quote_name(name)}, '')" for name in names[1:]}, source


def _unset(splitting: Splitting, expression: str) -> str:
    for text in splitting.unset:
        expression = f"nullif({expression}, {quote_text(text)})"
    return expression


def _escaped(key: str) -> str:
    """A key in a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
