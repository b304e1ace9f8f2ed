"""Error texts: the class that one names, by the visible table `error_types.csv`, and the words of it that are kept."""

from __future__ import annotations

import csv
from pathlib import Path

TABLE = Path(__file__).with_name("error_types.csv")
_GROUP = "[0-9a-f]{1,4}"
#: Pattern (any case) -> replacement, in this order. Clock times have no `::` and fewer than eight groups.
ADDRESSES = {
    r"(?:(?:\b[0-9a-f:]+)?::(?:ffff:)?)?(\b|_)[0-9]{1,3}(?:\.[0-9]{1,3}){3}": r"\1[ip]",
    rf"\b(?:{_GROUP}:){{7}}{_GROUP}\b": "[ip]",
    rf"(^|[^0-9a-z_:])(?:{_GROUP}(?::{_GROUP}){{0,6}})?::(?:{_GROUP}:){{0,6}}{_GROUP}\b": r"\1[ip]",
    rf"(^|[^0-9a-z_:])(?:{_GROUP}:){{1,7}}:([^0-9a-z_]|$)": r"\1[ip]\2",
    r"\[ip\]%[0-9a-z]+": "[ip]",
    r"\[\[ip\]\]": "[ip]",
    r"[0-9a-z_.+-]+@[0-9a-z-]+\.[0-9a-z.-]+": "[mail]",
}


def error_types() -> list[dict[str, str]]:
    """The rows of the table in order: class, pattern, example.

    A pattern is searched for in any case, in the text with a blank for each `_` and `-`; the first found wins.
    """
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def error_macros() -> str:
    """The statements that create `error_class(x)`, null where `x` names no class, and `mask_addresses(x)`."""
    whens = " ".join(
        f"when regexp_matches(translate(x, '_-', '  '), {_quoted(row['pattern'])}, 'i') then '{row['class']}'"
        for row in error_types()
    )
    masked = "x"
    for pattern, replacement in ADDRESSES.items():
        masked = f"regexp_replace({masked}, {_quoted(pattern)}, {_quoted(replacement)}, 'gi')"
    return (
        f"create or replace temp macro error_class(x) as case when x is null then null {whens} end;\n"
        f"create or replace temp macro mask_addresses(x) as {masked};\n"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
