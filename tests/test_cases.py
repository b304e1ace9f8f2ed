"""The worked cases beside the repository: the runner over the command line, and real bidders' answers one by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dashboard.snapshot import Snapshot, open_snapshot
from ingest.load import ingest
from tests.conftest import REPOSITORY


@pytest.mark.slow
@pytest.mark.parametrize(("group", "least"), [("core", 60), ("numbers", 6)])
def test_all_cases_of_the_numbers_pass(cases_dir: Path, group: str, least: int) -> None:
    script = str(cases_dir / "run_cases.py")
    runner = [sys.executable, script, str(cases_dir), "--group", group, "--strict", "--timeout", "240"]
    env = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [*runner, "--cli", f"{sys.executable} -m dashboard.cli"], env=env, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.stdout.splitlines()[-1:], said
    passed, _, failed = done.stdout.splitlines()[-1].partition(" passed, ")
    assert failed == "0 failed", said
    assert int(passed) >= least, said
    assert done.returncode == 0, said


@pytest.fixture(scope="module")
def answers(cases_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A warehouse that holds the answers of the adapter tests of an open exchange."""
    folder = tmp_path_factory.mktemp("answers")
    report = ingest([str(cases_dir / "adapter-answers" / "input.jsonl")], folder)
    assert report.totals()["facts"] == report.totals()["lines"] == 475
    return open_snapshot(folder)


@pytest.fixture(scope="module")
def expected(cases_dir: Path) -> list[dict[str, Any]]:
    text = (cases_dir / "adapter-answers" / "expected.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_answer_of_a_real_bidder_gets_its_outcome(answers: Snapshot, expected: list[dict[str, Any]]) -> None:
    got = answers.query("select auction_id, partner, http_status, outcome from attempts order by auction_id")
    want = [(row["auction_id"], row["partner"], row["http_status"], row["outcome"]) for row in expected]
    assert len(want) == 475
    assert got == sorted(want)


def test_every_no_bid_of_a_real_bidder_keeps_its_code(answers: Snapshot, expected: list[dict[str, Any]]) -> None:
    got = dict(answers.query("select auction_id, nbr from attempts where outcome = 'no_bid'"))
    want = {row["auction_id"]: row["nbr"] for row in expected if row["outcome"] == "no_bid"}
    assert len(want) > 50
    assert got == want
    reasons = dict(answers.query("select auction_id, reason from attempts where outcome = 'no_bid'"))
    assert reasons == {name: "no_reason" if code is None else str(code) for name, code in want.items()}
    assert answers.query("select count(*) from attempts where outcome <> 'no_bid' and reason is not null") == [(0,)]


def test_a_bid_of_a_real_bidder_carries_the_price_of_its_body(answers: Snapshot, cases_dir: Path) -> None:
    held = dict(answers.query("select auction_id, price::double from attempts where outcome = 'bid'"))
    checked = 0
    for line in (cases_dir / "adapter-answers" / "input.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["auction_id"] in held and isinstance(event["body"], dict):
            prices = [bid.get("price") for seat in event["body"]["seatbid"] for bid in seat.get("bid") or []]
            numbers = [price for price in prices if isinstance(price, int | float) and price >= 0]
            assert held[event["auction_id"]] == pytest.approx(max(numbers), abs=1e-6), event
            checked += 1
    assert checked > 100
