"""On simulated logs every table equals the truth that was counted while the events were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot, open_snapshot
from ingest.load import ingest
from ingest.simulate import SCENARIOS, simulate
from tests.reference.compare import KEYS, differences

SEEDS = [1, 2, 3, 4]
ENOUGH_DELAYS = 200
WHOLE = {"orders": Filters(limit=1_000_000)}
"""Tables that are cut unless asked for more."""
Truths = dict[str, Any]


def disagreements(truth: Truths, snapshot: Snapshot) -> list[str]:
    """Every cell of every table that is not as the truth has it."""
    found = []
    for name in KEYS:
        if name != "backoff":
            found += differences(name, truth[name], tables.rows(snapshot, name, WHOLE.get(name, Filters())))
    return found + backoff_disagreements(truth, snapshot)


def backoff_disagreements(truth: Truths, snapshot: Snapshot) -> list[str]:
    """Known senders of which another rule is told than theirs; `unclear` is no error here."""
    rows = backoff(snapshot)
    found = []
    for want in truth["backoff"]:
        got = rows.get((want["stream"], want["key"]))
        if got is None:
            found.append(f"backoff: missing {want}")
            continue
        right = got["delays"] == want["delays"] and got["synchronised"] == want["synchronised"]
        if got["kind"] != "unclear":
            right &= (got["kind"], got["jitter"]) == (want["kind"], want["jitter"])
            right &= near(got["base_ms"], want["base_ms"]) and near(got["cap_ms"], want["cap_ms"])
        if not right:
            found.append(f"backoff: expected {want}, got {got}")
    return found


def backoff(snapshot: Snapshot) -> dict[tuple[str, str], dict[str, Any]]:
    """The table `backoff` by stream and key."""
    return {(row["stream"], row["key"]): row for row in tables.rows(snapshot, "backoff", Filters())}


def near(estimate: float | None, true: float | None) -> bool:
    """An estimate that is there lies within a fifth of the truth; a cap that was never reached may be unknown."""
    if estimate is None:
        return True
    return true is not None and abs(estimate - true) <= 0.2 * true + 1


def loaded(logs: Path, folder: Path) -> Snapshot:
    """The snapshot of a warehouse with all logs of a folder."""
    ingest([str(logs)], folder / "warehouse")
    return open_snapshot(folder / "warehouse")


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_tables_equal_the_truth(seed: int, tmp_path: Path) -> None:
    truth = simulate(tmp_path / "logs", seed, 4, 7.0, bad_lines=12, blank_lines=3)
    assert json.loads((tmp_path / "logs" / "truth.json").read_text()) == truth
    report = ingest([str(tmp_path / "logs")], tmp_path / "warehouse")
    totals = report.totals()
    assert {name: totals[name] for name in ("lines", "facts", "rejects", "blank")} == truth["_lines"]
    assert totals["mended"] == truth["_mended"]
    for name in KEYS:
        assert truth[name], f"the truth says nothing about {name}"
    found = disagreements(truth, open_snapshot(tmp_path / "warehouse"))
    assert not found, "\n".join(found[:20])


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "default"])
def test_every_scenario_equals_its_truth(scenario: str, tmp_path: Path) -> None:
    truth = simulate(tmp_path / "logs", 7, 3, 5.0, scenario)
    found = disagreements(truth, loaded(tmp_path / "logs", tmp_path))
    assert not found, "\n".join(found[:20])


@pytest.mark.slow
def test_days_with_lost_orders_equal_the_truth(tmp_path: Path) -> None:
    truth = simulate(tmp_path / "logs", 8, 2, 5.0, days=3)
    assert {"lost", "pending"} <= {row["state"] for row in truth["orders"]}
    found = disagreements(truth, loaded(tmp_path / "logs", tmp_path))
    assert not found, "\n".join(found[:20])


@pytest.mark.slow
def test_senders_with_many_delays_are_recognised(tmp_path: Path) -> None:
    truth = simulate(tmp_path / "logs", 9, 10, 14.0, "postbacks")
    snapshot = loaded(tmp_path / "logs", tmp_path)
    assert not backoff_disagreements(truth, snapshot)
    rows = backoff(snapshot)
    sure = [want for want in truth["backoff"] if want["delays"] >= ENOUGH_DELAYS]
    assert {want["kind"] for want in sure} == {"immediate", "fixed", "linear", "exponential"}
    unclear = [want["key"] for want in sure if rows[want["stream"], want["key"]]["kind"] == "unclear"]
    assert len(unclear) <= 1, f"{unclear} of {len(sure)} are unclear"
