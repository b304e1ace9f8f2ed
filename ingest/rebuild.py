"""Make every model again from the facts: after a change of a setting that they depend on, or to be sure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ingest.compact import compact_models
from ingest.engine import engine
from ingest.errors import InputError
from ingest.keep import ROLL_UPS
from ingest.models.build import Build
from ingest.models.empty import write_empty
from ingest.models.parts import Part, Parts, quote, quote_name, scan
from ingest.models.relations import DAY_US, FACTS, STORED
from ingest.settings import load_settings
from ingest.snapshot.content import Publication
from ingest.snapshot.current import State, current_path, read_state
from ingest.snapshot.digest import damaged
from ingest.snapshot.lock import writer_lock
from ingest.snapshot.publish import publish
from ingest.snapshot.sweep import sweep

KEPT = (*FACTS, "rejects", "line_hashes")


def rebuild(warehouse: Path) -> Path:
    """Publish a snapshot whose models are made anew under the settings in force; gives its path.

    Where older facts are gone (`--keep-days`) the roll-ups of their time stay as they are. A warehouse of an earlier
    layout is one of this layout then. Raises InputError where
    nothing was loaded, or facts are missing or damaged.
    """
    if current_path(warehouse) is None:
        raise InputError(f"{warehouse}: nothing was loaded into it yet; run `retrylens ingest`")
    with writer_lock(warehouse):
        state = read_state(warehouse)
        settings = load_settings(warehouse)
        tmp = warehouse / "tmp"
        tmp.mkdir(exist_ok=True)
        kept = _kept(warehouse, state)
        con = engine(tmp)
        try:
            generation = f"{state.generation + 1:08d}-{time.time_ns() & 0xFFFFFFFF:08x}"
            parts = Parts(con, warehouse, generation, kept, state.facts_from_us)
            write_empty(parts)
            _widen(parts)
            for relation in FACTS:
                source = scan(warehouse, parts.of(relation) or parts.empty(relation))
                con.execute(f"create view stage_{relation} as select * from {source}")
            Build(con, parts, settings, first=True).run(
                billing=state.evidence.get("billing", False), billing_is_new=False
            )
            compact_models(parts, 0, state.streams.get("all", (0, 0))[1], settings.notice_days + 1)
        finally:
            con.close()
        publication = Publication(settings, state.evidence, state.streams, state.known, flag_history=state.flag_history)
        path = publish(warehouse, state, parts.all(), publication)
        sweep(warehouse, path, parts.all(), state, settings.snapshot_grace_s)
        return path


def _kept(warehouse: Path, state: State) -> Sequence[Part]:
    """The parts that are not made anew: facts and the like, and roll-ups from before the facts that are kept."""
    sources = [part for part in state.parts if part.relation in KEPT and part.rows]
    if wrong := damaged(warehouse, sources):
        part, fault = wrong[0]
        raise InputError(
            f"{warehouse / part.path}: {fault}; restore it from a backup, or load the logs into a new warehouse"
        )
    rolled_up = [
        part
        for part in state.parts
        if part.relation in ROLL_UPS and part.rows and part.unit_us + part.span_us <= state.facts_from_us
    ]
    return [*sources, *rolled_up]


def _widen(parts: Parts) -> None:
    """Write those parts again that an earlier layout left without some columns: what they hold there is unknown."""
    number = 0
    for relation in STORED:
        held = parts.of(relation)
        if not held:
            continue
        columns = parts.con.execute(f"describe select * from {scan(parts.root, parts.empty(relation))}").fetchall()
        listed = ", ".join(quote(str(parts.root / part.path)) for part in held)
        found = parts.con.execute(f"select file_name, list(name) from parquet_schema([{listed}]) group by 1").fetchall()
        there = {file: set(names) for file, names in found}
        for part in held:
            names = there[str(parts.root / part.path)]
            if all(name in names for name, *_ in columns):
                continue
            number += 1
            path = (parts.root / part.path).with_name(f"{part.lo_us // DAY_US}-{parts.generation}-wide{number}.parquet")
            values = ", ".join(
                quote_name(name) if name in names else f"null::{kind} as {quote_name(name)}"
                for name, kind, *_ in columns
            )
            parts.con.execute(
                f"copy (select {values} from {scan(parts.root, [part])}) to {quote(str(path))}"
                " (format parquet, compression zstd)"
            )
            parts.take_out([part])
            parts.add(replace(part, path=str(path.relative_to(parts.root)), size=0, digest=""))
