"""A log format as data: what its file says, checked and typed.

The native format is the canonical events themselves. A foreign one says how its records are split into text columns,
and how these give the keys of native events; from there on both are read alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

Split = Literal["json", "csv", "parquet", "document", "pairs", "regex", "cells"]


@dataclass(frozen=True)
class Field:
    """One input key: its type (see ingest/rows/values.py) and the canonical column that it feeds.

    A `foreign` one is filled by foreign formats only: in a native log it is an unknown key.
    """

    key: str
    type: str
    column: str
    required: bool
    foreign: bool = False


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
    foreign_relations: tuple[Relation, ...] = ()

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
class Layout:
    """The columns of a delimited record, which is told by how many they are."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Splitting:
    """How a record of a foreign format becomes text columns.

    `columns` gives their sources: a path of JSON keys, or the one key of a pair or a CSV header. `prefix` is what
    stands before the object or the pairs, `parts` what a line consists of: regular expressions, whose named groups are
    columns too. `unset` are the texts that mean absent, `empty` is what an empty text in JSON stands for. With
    `documents` an object may extend over many lines.
    """

    kind: Split
    columns: Mapping[str, tuple[str, ...]]
    unset: tuple[str, ...] = ()
    empty: str = ""
    prefix: str = ""
    parts: tuple[str, ...] = ()
    separator: str = ""
    layouts: tuple[Layout, ...] = ()
    documents: bool = False


@dataclass(frozen=True)
class Recognition:
    """A record is of the format when it has all `keys` of one of the sets, exactly those of one, or matches `line`."""

    keys: tuple[frozenset[str], ...] = ()
    exact: tuple[frozenset[str], ...] = ()
    line: str = ""


@dataclass(frozen=True)
class Rows:
    """Rows that a record gives: their native event, and an SQL expression for each key.

    Only where `when` holds; one for each element of the list `each`, known as `item` and `item_no`, where it is given.
    Notices that name another id than calls do not `joins` any: they are no evidence of what became of calls.
    """

    event: str
    columns: Mapping[str, str]
    when: str = ""
    each: str = ""
    unknown: tuple[str, ...] = ()
    joins: bool = True


@dataclass(frozen=True)
class Foreign:
    """A foreign format; `canonical` are the native events, less what it cannot require, `macros` its own SQL.

    Its files may also be split by `other_kinds`; which, each file tells.
    """

    name: str
    title: str
    path: Path
    splitting: Splitting
    recognition: Recognition
    rows: tuple[Rows, ...]
    canonical: Format
    macros: Mapping[str, str]
    zone: str | None = None
    other_kinds: tuple[Split, ...] = ()

    def split_as(self, kind: Split) -> Foreign:
        """The format with its records split by this one of its kinds."""
        kind = "json" if kind == "document" else kind
        return self if kind == self.splitting.kind else replace(self, splitting=replace(self.splitting, kind=kind))


AnyFormat = Format | Foreign


def canonical_of(native: Format, rows: tuple[Rows, ...]) -> Format:
    """The native events with the foreign keys, in which what `rows` call unknown is not required."""
    relations = []
    for relation in native.foreign_relations:
        unknown = {key for part in rows if part.event in relation.events for key in part.unknown}
        fields = tuple(
            replace(field, required=field.required and field.key not in unknown) for field in relation.fields
        )
        relations.append(replace(relation, fields=fields))
    return replace(native, relations=tuple(relations))


@dataclass(frozen=True)
class State:
    """How one file is read: its split and, for CSV, its header (of `header_bytes` bytes, where the lines begin)."""

    split: Split
    header: tuple[str, ...] = ()
    header_bytes: int = 0
