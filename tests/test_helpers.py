"""Processes that read beside a load may die at any moment: what they had in hand is read all the same."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.formats.registry import load_format
from ingest.formats.spec import Format
from ingest.load import ingest
from ingest.rows import loader
from ingest.rows.batch import read_batch
from ingest.rows.helpers import MOST, read_beside
from ingest.rows.raw import Raw
from ingest.rows.record import Reader
from ingest.verify import verify
from tests.loaded import at, attempt

pytestmark = pytest.mark.slow

BATCHES = 12


def helpers() -> list[int]:
    """Processes that read for this one now."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            if b"ingest.rows.helpers" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


@pytest.fixture
def native() -> Format:
    fmt = load_format("native")
    assert isinstance(fmt, Format)
    return fmt


def batches(kill: dict[int, int]) -> Iterator[list[Raw]]:
    """Lines, good and bad; before batch n, `kill[n]` of the helpers are killed."""
    for number in range(BATCHES):
        for pid in helpers()[: kill.get(number, 0)]:
            os.kill(pid, signal.SIGKILL)
        lines = [json.dumps(attempt(at(n), f"a{number}-{n}")).encode() for n in range(200)]
        lines[::7] = [b'{"event":"attempt"'] * len(lines[::7])
        yield [Raw(number * 200 + n + 1, n, line) for n, line in enumerate(lines)]


@pytest.mark.parametrize(
    "kill", [{0: 1}, {3: 1}, {BATCHES - 1: 1}, {0: MOST}, {2: 1, 5: MOST}, {BATCHES - 1: MOST}], ids=str
)
def test_the_batches_of_killed_helpers_are_read_here_in_order(native: Format, kill: dict[int, int]) -> None:
    reader = Reader(native, None)
    alone = [read_batch(reader, 3, batch, want_hashes=True) for batch in batches({})]
    assert list(read_beside(native, None, 3, batches(kill), want_hashes=True)) == alone
    assert helpers() == []


def test_a_load_whose_helpers_are_killed_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    events = [attempt(at(n % 50), f"a{n}", http_status="200.0", latency_ms="soon") for n in range(3000)]
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    killed = []
    plain = loader._batches

    def and_kill(raws: Iterator[Raw]) -> Iterator[list[Raw]]:
        for batch in plain(raws):
            if not killed:
                killed.extend(helpers())
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
            yield batch

    defaults = loader.RowLoader.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "helped_from", 100)
    monkeypatch.setitem(defaults, "engine_from", 1 << 60)
    monkeypatch.setattr(loader, "BATCH", 500)
    monkeypatch.setattr(loader, "_batches", and_kill)
    (report,) = ingest([str(log)], tmp_path / "w").files
    assert killed
    assert (report.lines, report.facts, report.mended["latency_ms"]) == (3000, 3000, 3000)
    assert verify(tmp_path / "w") == []
    assert capfd.readouterr().err == ""
