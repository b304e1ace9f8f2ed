"""Load what is new in the named files, all or nothing, while no one else writes to the warehouse."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from ingest.errors import InputError
from ingest.formats.registry import load_format
from ingest.options import Options, Patience
from ingest.progress import Meter, OnStep, no_step
from ingest.report import RunReport
from ingest.run import Run
from ingest.settings import STORED, Settings, load_settings
from ingest.snapshot.current import SCHEMA_VERSION, read_state
from ingest.snapshot.current import State as Published
from ingest.snapshot.lock import writer_lock
from ingest.sources import discover


def ingest(
    paths: Sequence[str],
    warehouse: Path,
    options: Options = Options(),
    patience: Patience | None = None,
    on_step: OnStep = no_step,
) -> RunReport:
    """Load what is new in `paths`; `on_step` is told how far it is.

    Raises InputError for a path, format or zone that does not exist, BusyError when another writer holds the
    warehouse. Refused files are in the report.
    """
    began = time.monotonic()
    found = discover(paths, outside=[warehouse], absent=patience is not None)
    if patience is not None:
        found = [one for one in found if not patience.skips(one)]
    given = load_format(options.format) if options.format else None
    with writer_lock(warehouse):
        state = read_state(warehouse)
        settings = load_settings(warehouse)
        _same_models(warehouse, settings, state)
        if not found:
            return RunReport([], time.monotonic() - began)
        run = Run(warehouse, state, settings, given, options, Meter(on_step, found))
        try:
            files = run.read_all(found, patience)
            if patience is not None and not files and not run.known.changed:
                return RunReport([], time.monotonic() - began)
            snapshot = run.finish(files)
        finally:
            run.con.close()
    return RunReport(files, time.monotonic() - began, snapshot.name)


def _same_models(warehouse: Path, settings: Settings, state: Published) -> None:
    if state.version < SCHEMA_VERSION:
        raise InputError(
            f"{warehouse}: its models are of an older version; run `retrylens rebuild`, which keeps the data"
        )
    now = dict(settings.rows())
    for name in STORED:
        before = state.settings.get(name, now[name])
        if before != now[name]:
            raise InputError(
                f"{warehouse}: {name} is {now[name]}, the stored models were made with {before};"
                f" set it back, or run `retrylens rebuild`"
            )
