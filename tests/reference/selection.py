"""Filters and the small things that all tables share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .lines import Row


@dataclass(frozen=True)
class Selection:
    """Half-open range in epoch microseconds and the partners kept; None keeps all."""

    frm: int | None = None
    to: int | None = None
    partners: tuple[str, ...] | None = None

    def at(self, ts: int) -> bool:
        return (self.frm is None or ts >= self.frm) and (self.to is None or ts < self.to)

    def of(self, partner: str | None) -> bool:
        return self.partners is None or partner in self.partners

    def takes(self, ts: int, partner: str | None) -> bool:
        return self.at(ts) and self.of(partner)


def ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def ordered(rows: Iterable[Row], *keys: str) -> list[Row]:
    """The rows by their key columns, NULL last."""

    def rank(row: Row) -> list[Any]:
        return [(row[key] is None, "" if row[key] is None else row[key]) for key in keys]

    return sorted(rows, key=rank)
