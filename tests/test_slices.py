"""A load that is worked out in many slices of its keys stores what it stores when all is taken at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.snapshot import Snapshot, open_snapshot
from ingest.load import ingest
from ingest.models import build
from ingest.models.relations import STORED
from ingest.simulate import simulate

pytestmark = pytest.mark.slow


def loaded(logs: Path, warehouse: Path) -> Snapshot:
    """The warehouse of all logs but one, and then of that one."""
    first, *rest = sorted(str(path) for path in logs.glob("*.jsonl"))
    ingest(rest, warehouse)
    ingest([first], warehouse)
    return open_snapshot(warehouse)


def test_slices_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(tmp_path / "logs", 5, 12, 1.0)
    whole = loaded(tmp_path / "logs", tmp_path / "whole")
    monkeypatch.setattr(build, "SLICE_ROWS", 700)
    sliced = loaded(tmp_path / "logs", tmp_path / "sliced")
    assert whole.query("select count(*) from attempts")[0][0] > 4 * 700
    for relation in STORED:
        rows = f"select * from {relation} order by all"
        assert sliced.query(rows) == whole.query(rows), relation
