"""On simulated logs every table equals the truth that was counted while the events were made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import open_snapshot
from ingest.load import ingest
from ingest.simulate import simulate
from tests.test_numbers import KEYS, differences

SEEDS = [1, 2, 3, 4, 5]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_tables_equal_the_truth(seed: int, tmp_path: Path) -> None:
    truth = simulate(tmp_path / "logs", seed, 5, 8.0, bad_lines=12, blank_lines=3)
    assert json.loads((tmp_path / "logs" / "truth.json").read_text()) == truth
    report = ingest([str(tmp_path / "logs")], tmp_path / "warehouse")
    totals = report.totals()
    assert {name: totals[name] for name in ("lines", "facts", "rejects", "blank")} == truth["_lines"]
    assert totals["mended"] == truth["_mended"]
    snapshot = open_snapshot(tmp_path / "warehouse")
    found = []
    for name in KEYS:
        assert truth[name], f"the truth says nothing about {name}"
        found += differences(name, truth[name], tables.rows(snapshot, name, Filters()))
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("scenario", ["healthy", "storm", "throttle", "postbacks"])
def test_every_scenario_equals_its_truth(scenario: str, tmp_path: Path) -> None:
    truth = simulate(tmp_path / "logs", 7, 3, 5.0, scenario)
    ingest([str(tmp_path / "logs")], tmp_path / "warehouse")
    snapshot = open_snapshot(tmp_path / "warehouse")
    found = []
    for name in KEYS:
        found += differences(name, truth[name], tables.rows(snapshot, name, Filters()))
    assert not found, "\n".join(found[:20])
