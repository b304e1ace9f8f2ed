"""Loads killed at random moments lose nothing, double nothing, and no reader notices."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 100


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash", str(tmp_path / "soak"), "--kills", str(KILLS)],
        capture_output=True,
        text=True,
        check=True,
    )
    outcome = json.loads(done.stdout)
    assert outcome["kills"] == KILLS
    assert outcome["reads"] > KILLS
    assert (outcome["lost"], outcome["doubled"], outcome["torn"], outcome["reader_errors"]) == (0, 0, 0, [])
    assert outcome["rejects"] == outcome["rejects_expected"]
    assert (outcome["faults"], outcome["leftovers"]) == ([], [])
    # five seconds, unless others keep the machine so busy that any load takes one
    assert outcome["slowest_restart_s"] <= max(5, 5 * outcome["usual_s"])
