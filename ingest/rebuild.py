"""Make every model again from the facts: after a change of a setting that they depend on, or to be sure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from ingest.errors import InputError
from ingest.keep import ROLL_UPS
from ingest.load import engine
from ingest.models.build import Build
from ingest.models.empty import write_empty
from ingest.models.parts import Part, Parts, scan
from ingest.models.relations import FACTS
from ingest.settings import load_settings
from ingest.snapshot.current import State, current_path, read_state
from ingest.snapshot.digest import damaged
from ingest.snapshot.lock import writer_lock
from ingest.snapshot.publish import Publication, publish
from ingest.snapshot.sweep import sweep

KEPT = (*FACTS, "rejects", "line_hashes")


def rebuild(warehouse: Path) -> Path:
    """Publish a snapshot whose models are made anew under the settings in force; gives its path.

    Where older facts are gone (`--keep-days`) the roll-ups of their time stay as they are. Raises InputError where
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
            for relation in FACTS:
                source = scan(warehouse, parts.of(relation) or parts.empty(relation))
                con.execute(f"create view stage_{relation} as select * from {source}")
            Build(con, parts, settings, first=True).run(
                billing=state.evidence.get("billing", False), billing_is_new=False
            )
        finally:
            con.close()
        publication = Publication(settings, state.evidence, state.streams, state.known, flag_history=state.flag_history)
        path = publish(warehouse, state, parts.all(), publication)
        sweep(warehouse, path, parts.all(), settings.snapshot_grace_s)
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
