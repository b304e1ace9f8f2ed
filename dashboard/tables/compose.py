"""From a table's statement to SQL that runs: the relations that stand for the filters are put before it.

A statement may name any *part*: a file of `parts/`, or a function of `made`, whose text depends on the filters. Parts
that it names, and those that they name, become CTEs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from dashboard.tables.context import Context
from dashboard.tables.made import MADE
from dashboard.tables.made_postbacks import MADE_POSTBACKS
from dashboard.tables.spec import Table

_NAMED = re.compile(r"\b(?:from|join)\s+([a-z_]+)")
_OWN = re.compile(r"\b([a-z_]+) as \(")


def compose(table: Table, context: Context, limit: int | None = None) -> str:
    """The whole statement of `table` in `context`, literals and all."""
    ctes: dict[str, str] = {}
    _collect(table.body, context, ctes)
    body = context.at(table.body)
    if ctes:
        head = ",\n\n".join(f"{name} as (\n{_indent(text)}\n)" for name, text in ctes.items())
        body = f"with {head},\n\n{body[5:]}" if body.startswith("with ") else f"with {head}\n\n{body}"
    return body if limit is None else f"{body}\nlimit {limit}"


def _collect(text: str, context: Context, ctes: dict[str, str]) -> None:
    own = set(_OWN.findall(text))
    for name in dict.fromkeys(_NAMED.findall(text)):
        if name in ctes or name in own:
            continue
        part = _part(name, context)
        if part is not None:
            _collect(part, context, ctes)
            ctes[name] = part


def _part(name: str, context: Context) -> str | None:
    made = MADE.get(name) or MADE_POSTBACKS.get(name)
    if made is not None:
        return made(context)
    text = _files().get(name)
    return None if text is None else context.at(text)


@cache
def _files() -> Mapping[str, str]:
    folder = Path(__file__).parent / "parts"
    return {path.stem: path.read_text(encoding="utf-8").strip() for path in folder.glob("*.sql")}


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))
