"""A log format as data: what its file says, checked and typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Split = Literal["json", "csv", "parquet"]


@dataclass(frozen=True)
class Field:
    """One input key: its type (see ingest/rows/values.py) and the canonical column that it feeds."""

    key: str
    type: str
    column: str
    required: bool


@dataclass(frozen=True)
class Relation:
    """One canonical relation, and the fields that the named events fill in it (`event_column` takes the event)."""

    name: str
    events: tuple[str, ...]
    fields: tuple[Field, ...]
    event_column: str | None = None


@dataclass(frozen=True)
class Format:
    """A log format: how its files are split into lines, how they are recognised, what they hold."""

    name: str
    title: str
    split: tuple[Split, ...]
    recognise: tuple[str, ...]
    kind: str
    relations: tuple[Relation, ...]

    @cached_property
    def by_event(self) -> Mapping[str, Relation]:
        """Event name -> the relation that its lines go to."""
        return {event: relation for relation in self.relations for event in relation.events}

    @cached_property
    def types(self) -> Mapping[str, str]:
        """Every known key with its type; a key has one type wherever it appears."""
        known = {self.kind: "event"}
        for relation in self.relations:
            known.update({field.key: field.type for field in relation.fields})
        return known


@dataclass(frozen=True)
class State:
    """How one file is read: its split and, for CSV, its header (of `header_bytes` bytes, where the lines begin)."""

    split: Split
    header: tuple[str, ...] = ()
    header_bytes: int = 0
