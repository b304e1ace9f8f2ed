"""The engine's pass over the lines of one relation: casts what is surely canonical, and marks the rest as odd."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

import duckdb

from ingest.formats.spec import Field, Format, Relation
from ingest.rows.staging import typed_columns

CASTS = Path(__file__).with_name("casts.sql")
#: Types whose texts are tested together by `odd_texts`.
TOGETHER = ("text", "error", "path", "hash", "loss_reason")
#: What a statement over raw lines may raise; the second where the engine's own message cuts a character of a line.
ENGINE_ERRORS = (duckdb.Error, UnicodeDecodeError)
#: Longest line, with its line end, that the engine reads; longer ones are left to the definition.
MAX_LINE = 4 * 1024 * 1024


@cache
def macros() -> str:
    """The statements that create every macro of the pass; the time zone must be UTC."""
    return CASTS.read_text(encoding="utf-8")


def json_texts(fmt: Format, relation: Relation, lines: str, *, guarded: bool) -> str:
    """The keys of `relation` as text, one row a line of `lines` (line, line_no, suspect, exact).

    Unless `guarded` it fails where a line is no JSON; with it the keys of such a line are NULL.
    """
    shape = json.dumps(dict.fromkeys(_keys(fmt, relation), "VARCHAR"))
    texts = f"json_transform(line, {_text(shape)})"
    if guarded:
        texts = f"case when json_valid(line) then {texts} end"
    return f"(select unnest({texts}), line_no, suspect, exact from {lines})"


def of_events(fmt: Format, relation: Relation, table: str, keys: Collection[str]) -> str:
    """The rows of `table` whose event feeds `relation`; what is not among its `keys` is NULL.

    Beside the texts they have `line_no`, `suspect` (odd anyway) and `exact` (numbers are as they were written).
    """
    texts = [_name(key) if key in keys else f"cast(null as varchar) as {_name(key)}" for key in _keys(fmt, relation)]
    events = ", ".join(map(_text, relation.events))
    return f"(select {', '.join(texts)}, line_no, suspect, exact from {table} where {_name(fmt.kind)} in ({events}))"


def typed_rows(fmt: Format, relation: Relation, source: str, file_no: int) -> str:
    """Statement that gives the typed rows of `source` (see `of_events`).

    Odd rows, and those of other relations, come with a negative line number.
    """
    fields = [field for field in relation.fields if field.type != "ignored"]
    bodies = [field for field in fields if field.type == "body"]
    casts = [f"{_cast(field)} as {_value(field)}" for field in fields]
    parts = [
        part
        for field in bodies
        for part in (
            f"body_seats({_name(field.key)}, {_value(field)}) as body_seats",
            f"body_prices({_value(field)}) as body_prices",
        )
    ]
    columns: Mapping[str, str] = {field.column: _value(field) for field in fields if field.type != "body"}
    if bodies:
        columns = {**columns, **_body_columns(bodies[0])}
    if relation.event_column:
        columns = {**columns, relation.event_column: _name(fmt.kind)}
    absent = {name: f"cast(null as {kind})" for name, kind in typed_columns(relation.name).items()}
    odd = " or ".join(_odd(fmt, relation, fields))
    place = {"file_no": str(file_no), "line_no": f"case when {odd} then -line_no else line_no end"}
    listed = ", ".join(f"{text} as {_name(name)}" for name, text in {**absent, **columns, **place}.items())
    inner = f"select *, {', '.join(casts)} from {source}"
    if parts:
        inner = f"select *, {', '.join(parts)} from ({inner})"
    return f"select {listed} from ({inner})"


def _keys(fmt: Format, relation: Relation) -> list[str]:
    return [fmt.kind, *(field.key for field in relation.fields if field.type != "ignored")]


def _cast(field: Field) -> str:
    exact = ", exact" if field.type == "time" else ""
    return f"cast_{field.type}({_name(field.key)}{exact})"


def _odd(fmt: Format, relation: Relation, fields: Sequence[Field]) -> list[str]:
    events = ", ".join(map(_text, relation.events))
    tests = ["suspect", f"{_name(fmt.kind)} is null", f"{_name(fmt.kind)} not in ({events})"]
    tests += [f"{_value(field)} is null" for field in fields if field.required]
    together = ", ".join(_name(field.key) for field in fields if field.type in TOGETHER)
    tests.append(f"odd_texts(concat_ws(chr(1), {together}))")
    for field in fields:
        if field.type == "body":
            tests.append(f"odd_body({_name(field.key)}, {_value(field)}, body_seats, body_prices)")
        elif field.type != "text":
            tests.append(f"odd_{field.type}({_name(field.key)}, {_value(field)})")
    return tests


def _body_columns(field: Field) -> dict[str, str]:
    text, value = _name(field.key), _value(field)
    prices = "list_transform(body_prices, lambda price: sure_price(price))"
    return {
        "body_kind": f"case when {text} is null then null when {text} = '' then 'none' when {value} is null"
        " then 'invalid' when len(body_prices) > 0 then 'bids' else 'none' end",
        "body_bids": f"case when {text} = '' or {value} is not null then coalesce(len(body_prices), 0) end",
        "body_price": f"list_max({prices})",
        "body_currency": f"nullif({value}.cur, '')",
        "body_nbr": f"nullif({value}.nbr, '')",
    }


def _value(field: Field) -> str:
    return _name(f"value of {field.key}")


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
