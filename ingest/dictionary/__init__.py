"""What the product says about its own words: outcomes, no-bid reasons and metrics, as data.

Each CSV file here becomes a table of the snapshot; the metrics are a folder with a file for each topic.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


@dataclass(frozen=True)
class Table:
    """A small table: its name in the snapshot, columns with engine types, rows."""

    name: str
    columns: dict[str, str]
    rows: list[tuple[object, ...]]


TABLES = {
    "outcomes": (
        "outcomes.csv",
        {
            "outcome": "varchar",
            "title": "varchar",
            "grp": "varchar",
            "rank": "bigint",
            "owner": "varchar",
            "remedy": "varchar",
        },
    ),
    "nbr_codes": (
        "nbr.csv",
        {"code": "varchar", "name": "varchar", "class": "varchar", "owner": "varchar", "remedy": "varchar"},
    ),
    "metrics": (
        "metrics",
        {
            "name": "varchar",
            "title": "varchar",
            "unit": "varchar",
            "numerator": "varchar",
            "denominator": "varchar",
            "definition": "varchar",
            "owner": "varchar",
        },
    ),
}


@cache
def load_dictionary() -> tuple[Table, ...]:
    """Every table of the dictionary."""
    return tuple(_table(name, file, columns) for name, (file, columns) in TABLES.items())


def load_outcomes() -> list[tuple[str, str, int | None]]:
    """(outcome, group, rank) of the outcomes of an attempt; the rank of one that was not sent is None."""
    table = next(table for table in load_dictionary() if table.name == "outcomes")
    at = list(table.columns).index
    return [
        (str(row[at("outcome")]), str(row[at("grp")]), rank if isinstance(rank := row[at("rank")], int) else None)
        for row in table.rows
    ]


def _table(name: str, source: str, columns: dict[str, str]) -> Table:
    place = files("ingest.dictionary").joinpath(source)
    parts = sorted(place.iterdir(), key=lambda part: part.name) if place.is_dir() else [place]
    return Table(name, columns, [row for part in parts for row in _rows(part, columns)])


def _rows(part: Traversable, columns: dict[str, str]) -> list[tuple[object, ...]]:
    header, *records = csv.reader(part.read_text(encoding="utf-8").splitlines())
    if sorted(header) != sorted(columns) or any(len(record) != len(header) for record in records):
        raise ValueError(f"{part.name}: every row needs the cells {', '.join(columns)}; quote cells that hold commas")
    at = {column: header.index(column) for column in columns}
    return [tuple(_cell(record[at[column]], kind) for column, kind in columns.items()) for record in records]


def _cell(text: str, kind: str) -> object:
    if not text:
        return None
    return int(text) if kind == "bigint" else text
