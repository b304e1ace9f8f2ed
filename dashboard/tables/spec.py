"""What result tables there are: one `.sql` file each, whose `--:` lines say which filters it needs and takes.

A line `--: step NAME` says that the rows of the statement are not yet those of the table: `dashboard.NAME.step` makes
them, with `COLUMNS` (a dict of names to types) and `rows` (from the statement's rows, as dicts, to tuples).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from dashboard.errors import UserError
from dashboard.filters import Filters

_FOLDER = Path(__file__).parent / "sql"
_INNER = Path(__file__).parent / "inner"


class Step(Protocol):
    """A module that makes a table's rows of those of its statement."""

    @property
    def COLUMNS(self) -> Mapping[str, str]:
        """The table's columns and their types, as the engine names them."""

    def rows(self, found: Sequence[Mapping[str, Any]]) -> Iterable[tuple[Any, ...]]:
        """The table's rows."""


@dataclass(frozen=True)
class Table:
    """A result table. `about` is its first comment; `body` the statement without the range's own relations."""

    name: str
    folder: Path = _FOLDER

    @cached_property
    def _lines(self) -> list[str]:
        return (self.folder / f"{self.name}.sql").read_text(encoding="utf-8").splitlines()

    @cached_property
    def about(self) -> str:
        """What the table shows and what one row is."""
        return " ".join(line[3:].strip() for line in self._lines if line.startswith("-- "))

    @cached_property
    def body(self) -> str:
        """The statement."""
        return "\n".join(line for line in self._lines if not line.startswith("--")).strip()

    def words(self, directive: str) -> tuple[str, ...] | None:
        """Words behind `--: directive`; None where the table has no such line."""
        for line in self._lines:
            parts = line.split()
            if parts[:2] == ["--:", directive]:
                return tuple(parts[2:])
        return None

    @property
    def limit(self) -> int | None:
        """Rows shown unless asked otherwise; None for tables that are always whole."""
        words = self.words("limit")
        return int(words[0]) if words else None

    @property
    def has_series(self) -> bool:
        """Whether the table can be had by time buckets."""
        return self.words("series") is not None

    @cached_property
    def step(self) -> Step | None:
        """What makes the table's rows of those of its statement; None where they are the same."""
        words = self.words("step")
        return cast("Step", import_module(f"dashboard.{words[0]}.step")) if words else None

    def ignored(self, filters: Filters) -> list[str]:
        """Options in `filters` that have no meaning for this table."""
        given = {
            "partner": bool(filters.partners),
            "range": filters.frm_us is not None or filters.to_us is not None,
        }
        return [word for word in self.words("ignores") or () if given[word]]

    def check(self, filters: Filters) -> None:
        """Raise UserError where a filter is missing, or is one of another table."""
        own = {"auction": filters.auction, "key": filters.key, "order": filters.order}
        needs = self.words("needs") or ()
        if needs and not any(own.get(word) for word in needs) and not ("partner" in needs and filters.partners):
            options = " or ".join(f"--{word} {'NAME' if word == 'partner' else 'ID'}" for word in needs)
            raise UserError(f"{self.name} is long: choose rows with {options}")
        for word, value in own.items():
            if value is not None and word not in needs:
                raise UserError(f"--{word} is not for the table {self.name}; leave it out")
        if filters.limit is not None and self.limit is None:
            raise UserError(f"--limit is not for the table {self.name}, which is always whole; leave it out")


TABLES = {path.stem: Table(path.stem) for path in sorted(_FOLDER.glob("*.sql"))}
"""The tables of `show`."""

INNER_TABLES = {path.stem: Table(path.stem, _INNER) for path in sorted(_INNER.glob("*.sql"))}
"""Further ones for pages and reports."""


def get_table(name: str) -> Table:
    """The table called `name`. Raises UserError that lists the choices of `show`."""
    table = TABLES.get(name) or INNER_TABLES.get(name)
    if table is None:
        raise UserError(f"no table {name!r}; choose one of {', '.join(TABLES)}")
    return table
