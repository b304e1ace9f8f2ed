"""A load that is worked out in many slices of its keys stores what it stores when all is taken at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dashboard.snapshot import Snapshot, open_snapshot
from ingest.facts import store
from ingest.load import ingest
from ingest.models import build, parts, slices
from ingest.models.relations import HOUR_US, STORED
from ingest.simulate import simulate
from ingest.snapshot.current import read_state
from tests.loaded import attempt

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
    monkeypatch.setattr(parts, "REWRITTEN_ROWS", 200)
    sliced = loaded(tmp_path / "logs", tmp_path / "sliced")
    assert whole.query("select count(*) from attempts")[0][0] > 4 * 700
    for relation in STORED:
        rows = f"select * from {relation} order by all"
        assert sliced.query(rows) == whole.query(rows), relation


def test_a_late_line_has_those_parts_written_anew_that_hold_its_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slices end within an hour, so parts share hours, and from one to the next a whole day hangs together."""
    monkeypatch.setattr(build, "LARGE_ROWS", 500)
    monkeypatch.setattr(slices, "SLICE_ROWS", 5_000)
    monkeypatch.setattr(slices, "APART_ROWS", 300)
    monkeypatch.setattr(parts, "DAY_ROWS", 100)
    simulate(tmp_path / "logs", 5, 300, 0.1)
    ingest([str(tmp_path / "logs")], tmp_path / "warehouse")
    before = calls_in(tmp_path / "warehouse")
    hour = next(hour for part in before for hour in hours_of(part) if hanging_on(hour, before))
    late = attempt(datetime.fromtimestamp(hour / 1e6 + 9, UTC).isoformat(), "late")
    (tmp_path / "late.jsonl").write_text(json.dumps(late) + "\n")
    ingest([str(tmp_path / "late.jsonl")], tmp_path / "warehouse")
    left = calls_in(tmp_path / "warehouse")
    assert [part for part in before if part in left] == [part for part in before if not part.holds({hour})]


def calls_in(warehouse: Path) -> list[parts.Part]:
    """The parts with rows of calls."""
    return [part for part in read_state(warehouse).parts if part.relation == "calls" and part.rows]


def hours_of(part: parts.Part) -> set[int]:
    """The hours that a part may hold."""
    return set(range(part.unit_us, part.unit_us + part.span_us, HOUR_US))


def hanging_on(hour: int, held: list[parts.Part]) -> list[parts.Part]:
    """Parts that do not hold the hour, but share another one with a part that does."""
    near = {one for part in held if part.holds({hour}) for one in hours_of(part)}
    return [part for part in held if part.holds(near) and not part.holds({hour})]


def test_a_load_of_facts_years_apart_touches_no_hour_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two lines of each hour with a fact, twenty years away from the rest: the work goes with the hours that exist."""
    monkeypatch.setattr(build, "LARGE_ROWS", 500)
    monkeypatch.setattr(slices, "SLICE_ROWS", 10_000)
    log = simulate_two_ages(tmp_path)
    asked: list[set[int]] = []
    rewrite = parts.Parts.rewrite

    def noted(self: parts.Parts, relation: str, hours: set[int], *rest: Any, **more: Any) -> None:
        asked.append(hours)
        rewrite(self, relation, hours, *rest, **more)

    monkeypatch.setattr(parts.Parts, "rewrite", noted)
    ingest([str(log)], tmp_path / "warehouse")
    snapshot = open_snapshot(tmp_path / "warehouse")
    [(first, last, held)] = snapshot.query(
        f"select min(epoch_us(ts)), max(epoch_us(ts)), count(distinct epoch_us(ts) // {HOUR_US}) from attempts"
    )
    assert (last - first) // HOUR_US > 20 * 365 * 24
    assert held < 20
    assert max(len(hours) for hours in asked) < 100


def simulate_two_ages(folder: Path) -> Path:
    """One log of a simulated hour and of the same hour in the year 2006."""
    simulate(folder / "logs", 5, 60, 0.05)
    log = folder / "two-ages.jsonl"
    with log.open("w") as out:
        for path in sorted((folder / "logs").glob("*.jsonl")):
            for line in path.read_text().splitlines():
                out.write(line + "\n")
                out.write(line.replace('"ts":"2026', '"ts":"2006').replace('_id":"', '_id":"old-') + "\n")
    return log
