"""Load fuzzed lines in a process of its own, and compare what became of them with the tests' own reading."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from ingest.snapshot.current import current_path
from tests.fuzz.making import fuzzed_lines
from tests.fuzz.reading import read_file

KINDS = {"facts": "fact", "rejects": "reject", "blank": "blank", "repeated": "repeated"}


@dataclass(frozen=True)
class Outcome:
    """What the load said and what the lines are; `differing` are numbers of lines that one of the two rejects."""

    seed: int
    lines: int
    told: dict[str, int]
    own: dict[str, int]
    differing: list[int]
    bytes: int
    wall_s: float
    cpu_s: float
    peak_mb: float

    @property
    def agree(self) -> bool:
        """Whether both agree, line by line and in sum."""
        return not self.differing and self.told == self.own and sum(self.told.values()) == self.lines

    def as_dict(self) -> dict[str, object]:
        """All of it, for JSON."""
        return {**asdict(self), "agree": self.agree}


def compare(folder: Path, number: int, seed: int) -> Outcome:
    """Load `number` fuzzed lines into a fresh warehouse in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    log, warehouse = folder / "fuzzed.jsonl", folder / "warehouse"
    with log.open("wb") as out:
        out.writelines(fuzzed_lines(number, seed))
    began = time.monotonic()
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from ingest.cli import main; main()",
            "ingest",
            str(log),
            "--json",
            "--warehouse",
            str(warehouse),
        ],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise SystemExit(f"the load ended with {process.returncode}: {said.decode()}")
    totals = json.loads(said)["totals"]
    content = log.read_bytes()
    reading = read_file(content)
    with duckdb.connect(str(current_path(warehouse)), read_only=True) as con:
        rejected = {line for (line,) in con.execute("select line from rejects").fetchall()}
    return Outcome(
        seed=seed,
        lines=content.count(b"\n"),
        told={name: totals[name] for name in KINDS},
        own={name: reading.counts[kind] for name, kind in KINDS.items()},
        differing=sorted(rejected ^ set(reading.rejects))[:50],
        bytes=len(content),
        wall_s=round(wall, 2),
        cpu_s=round(usage.ru_utime + usage.ru_stime, 2),
        peak_mb=round(usage.ru_maxrss / 1024, 1),
    )
