"""The committed sample is the work of one `retrylens simulate` command, and loads as its truth says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import zstandard
from typer.testing import CliRunner

from dashboard.snapshot import open_snapshot
from ingest.cli import app
from ingest.load import ingest
from tests.test_truth import disagreements

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "sample_data"


def content(path: Path) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()


@pytest.mark.slow
def test_the_command_in_the_readme_makes_the_sample(tmp_path: Path) -> None:
    command = re.search(r"retrylens (simulate --out sample_data[^\n`]*)", (ROOT / "README.md").read_text())
    assert command, "README does not say how the sample was made"
    arguments = shlex.split(command[1].replace("--out sample_data", f"--out {tmp_path}"))
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    made, kept = sorted(tmp_path.iterdir()), sorted(SAMPLE.iterdir())
    assert [path.name for path in made] == [path.name for path in kept]
    for one, other in zip(made, kept, strict=True):
        if one.suffix == ".zst":
            assert content(one) == content(other), one.name


def test_the_sample_is_small_and_spans_eight_days_or_more() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.iterdir()) < 8_000_000
    days = {re.search(r"\d{4}-\d\d-\d\d", path.name)[0] for path in SAMPLE.glob("*.zst")}  # type: ignore[index]
    assert len(days) >= 8


@pytest.mark.slow
def test_the_sample_loads_as_its_truth_says(tmp_path: Path) -> None:
    truth = json.loads((SAMPLE / "truth.json").read_text())
    report = ingest([str(SAMPLE)], tmp_path / "warehouse")
    totals = report.totals()
    assert {name: totals[name] for name in ("lines", "facts", "rejects", "blank")} == truth["_lines"]
    assert totals["mended"] == truth["_mended"]
    assert truth["_lines"]["rejects"] > 0, "a sample without a bad line shows no reject"
    snapshot = open_snapshot(tmp_path / "warehouse")
    found = disagreements(truth, snapshot)
    assert not found, "\n".join(found[:20])
