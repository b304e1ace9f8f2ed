"""The class of a raw error text, by the visible table `error_types.csv`: the first pattern found wins."""

from __future__ import annotations

import csv
from pathlib import Path

TABLE = Path(__file__).with_name("error_types.csv")


def error_types() -> list[dict[str, str]]:
    """The rows of the table in order: class, pattern (searched for in any case), example."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def class_macro() -> str:
    """The statement that creates `error_class(x)`: the class that a text names, null where it names none."""
    whens = " ".join(
        "when regexp_matches(x, '{}', 'i') then '{}'".format(row["pattern"].replace("'", "''"), row["class"])
        for row in error_types()
    )
    return f"create or replace temp macro error_class(x) as case when x is null then null {whens} end;\n"
