"""A load that is worked out in many slices of its keys stores what it stores when all is taken at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.snapshot import Snapshot, open_snapshot
from ingest.facts import store
from ingest.load import ingest
from ingest.models import build, parts, slices
from ingest.models.relations import STORED
from ingest.simulate import simulate

pytestmark = pytest.mark.slow


def loaded(logs: Path, warehouse: Path) -> Snapshot:
    """The warehouse of all logs but one, then of most of that one, and then of the lines left: too few for slices."""
    first, *rest = sorted(logs.glob("*.jsonl"))
    lines = first.read_bytes().splitlines(keepends=True)
    few = len(lines) // 2
    cut = {"most": lines[:few] + lines[few + 200 :], "few": lines[few : few + 200]}
    ingest([str(path) for path in rest], warehouse)
    for name, held in cut.items():
        path = warehouse.with_name(f"{warehouse.name}-{name}.jsonl")
        path.write_bytes(b"".join(held))
        ingest([str(path)], warehouse)
    return open_snapshot(warehouse)


def test_slices_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(tmp_path / "logs", 5, 240, 0.05)
    whole = loaded(tmp_path / "logs", tmp_path / "whole")
    monkeypatch.setattr(store, "LARGE_ROWS", 500)
    monkeypatch.setattr(build, "LARGE_ROWS", 500)
    monkeypatch.setattr(slices, "SLICE_ROWS", 700)
    monkeypatch.setattr(slices, "APART_ROWS", 300)
    monkeypatch.setattr(parts, "DAY_ROWS", 1000)
    sliced = loaded(tmp_path / "logs", tmp_path / "sliced")
    assert whole.query("select count(*) from attempts")[0][0] > 4 * 700
    for relation in STORED:
        rows = f"select * from {relation} order by all"
        assert sliced.query(rows) == whole.query(rows), relation
