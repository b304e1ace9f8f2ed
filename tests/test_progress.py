"""The progress of a load: a bar on a terminal, nothing where standard error is none, the same result beside it."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.load import ingest
from ingest.progress import Step
from tests.conftest import REPOSITORY
from tests.loaded import at, attempt

pytestmark = pytest.mark.slow

LOAD = [sys.executable, "-c", "from ingest.cli import main; main()", "ingest"]


def write(path: Path, lines: int, bad: int = 0) -> bytes:
    """A log of so many good and broken lines."""
    text = "".join(json.dumps(attempt(at(n % 3000), f"A{n}", latency_ms=n % 90)) + "\n" for n in range(lines))
    content = (text + '{"event":"attempt"\n' * bad).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return content


def on_a_terminal(*arguments: str) -> tuple[bytes, str]:
    """What a load prints on standard output, and what a terminal that is its standard error shows."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "160"}
    process = subprocess.Popen(
        [*LOAD, *arguments], stdout=subprocess.PIPE, stderr=theirs, cwd=REPOSITORY, env=environment
    )
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
    except OSError:  # the last holder of the other end is gone
        pass
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == 0, shown
    return out, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def test_a_terminal_shows_rate_lines_rejects_and_time_left(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", 3000, bad=7)
    out, shown = on_a_terminal(str(tmp_path / "a.jsonl"), "--json", "--warehouse", str(tmp_path / "w"))
    assert re.search(r"[0-9.]+ MB/s, 3,007 lines, 7 rejects", shown)
    assert "100%" in shown
    assert "left" in shown
    assert "models" in shown
    assert json.loads(out)["totals"]["lines"] == 3007


def test_without_a_terminal_nothing_of_it_is_printed(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", 50)
    done = subprocess.run(
        [*LOAD, str(tmp_path / "a.jsonl"), "--json", "--warehouse", str(tmp_path / "w")],
        capture_output=True,
        cwd=REPOSITORY,
        check=True,
    )
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1
    assert json.loads(done.stdout)["totals"]["facts"] == 50


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_steps_add_up_to_what_was_read(tmp_path: Path, name: str) -> None:
    content = write(tmp_path / name, 600, bad=3)
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(attempt(at(n), f"B{n}")) + "\n" for n in range(10)))
    size = (tmp_path / name).stat().st_size + (tmp_path / "b.jsonl").stat().st_size
    steps: list[Step] = []
    ingest([str(tmp_path / name), str(tmp_path / "b.jsonl")], tmp_path / "w", on_step=steps.append)
    last = steps[-1]
    assert [step.taken for step in steps] == sorted(step.taken for step in steps)
    assert (last.taken, last.total, last.lines, last.rejects, last.models) == (size, size, 613, 3, True)
    assert last.decoded == len(content) + (tmp_path / "b.jsonl").stat().st_size


def test_a_known_file_is_done_at_once(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", 20)
    ingest([str(tmp_path / "a.jsonl")], tmp_path / "w")
    steps: list[Step] = []
    ingest([str(tmp_path / "a.jsonl")], tmp_path / "w", on_step=steps.append)
    size = (tmp_path / "a.jsonl").stat().st_size
    assert (steps[-1].taken, steps[-1].total, steps[-1].lines) == (size, size, 0)
