"""`python -m tests.benchmarks.scale FOLDER [--attempts N] [--days N] [--partners N] [--loads N]`: a large exchange.

Makes the log of a week (tests/benchmarks/week.py) and loads it in one go through a pipe, into FOLDER/warehouse; a part
of it first, so that the costs of a line can be compared. Then: each result table over whole minutes of all days, warm;
`--loads` small loads in the hours after the week, with what their models and publish took, while a reader polls; the
first and the last tenth of them apart, for a load must not cost more the more came before it.

Writes FOLDER/scale.json and prints the same figures. The warehouse stays, for tests/benchmarks/pages.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from itertools import count, islice
from pathlib import Path

from dashboard.snapshot import open_snapshot
from tests.benchmarks.__main__ import measure_tables
from tests.benchmarks.week import Week

SMALL_LINES = 2_000
WORK = [sys.executable, "-m", "tests.benchmarks.work"]
#: What a reader asks: sums of one snapshot that must agree.
AGREE = "select (select coalesce(sum(attempts), 0) from minute_attempts), (select count(*) from attempts)"


def load_through_pipe(hours: Iterable[bytes], warehouse: Path) -> dict[str, float]:
    """CPU, wall and peak memory of one ingest of all of it, and the CPU of a line."""
    shutil.rmtree(warehouse, ignore_errors=True)
    began = time.monotonic()
    lines = size = 0
    process = subprocess.Popen([*WORK, "ingest", "-", str(warehouse)], stdin=subprocess.PIPE)
    assert process.stdin is not None
    for hour in hours:
        process.stdin.write(hour)
        lines, size = lines + hour.count(b"\n"), size + len(hour)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the load ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return {
        "lines": lines,
        "gb": round(size / 1e9, 2),
        "cpu_s": round(cpu, 1),
        "wall_s": round(time.monotonic() - began, 1),
        "cpu_us_a_line": round(cpu / lines * 1e6, 2),
        "peak_mb": round(usage.ru_maxrss / 1024),
    }


class Reader(threading.Thread):
    """Opens the newest snapshot again and again; counts the reads, the torn and the failed."""

    def __init__(self, warehouse: Path) -> None:
        super().__init__()
        self.warehouse, self.done = warehouse, threading.Event()
        self.reads = self.torn = self.failed = 0

    def run(self) -> None:
        """Poll until `done`."""
        while not self.done.wait(0.2):
            self.reads += 1
            try:
                [(minutes, attempts)] = open_snapshot(self.warehouse).query(AGREE)
                self.torn += minutes != attempts
            except Exception:
                self.failed += 1


def small_loads(week: Week, warehouse: Path, number: int) -> dict[str, float]:
    """Loads of SMALL_LINES new lines each, in the hours after the week: seconds, medians and 95th percentiles."""
    lines = (line for hour in count(week.hours) for line in week.hour(hour).splitlines(keepends=True))
    reader = Reader(warehouse)
    reader.start()
    took: list[dict[str, float]] = []
    log = warehouse.with_name("small.jsonl")
    try:
        for _ in range(number):
            log.write_bytes(b"".join(islice(lines, SMALL_LINES)))
            said = subprocess.run([*WORK, "steps", str(log), str(warehouse)], stdout=subprocess.PIPE, check=True).stdout
            took.append(json.loads(said))
    finally:
        reader.done.set()
        reader.join()
    figures: dict[str, float] = {"reads": reader.reads, "torn": reader.torn, "failed": reader.failed}
    tenth = max(number // 10, 1)
    for name in took[0]:
        values = [one[name] for one in took]
        figures[f"{name} median"] = round(statistics.median(values), 3)
        figures[f"{name} p95"] = round(sorted(values)[int(len(values) * 0.95)], 3)
        figures[f"{name} first tenth"] = round(statistics.median(values[:tenth]), 3)
        figures[f"{name} last tenth"] = round(statistics.median(values[-tenth:]), 3)
    return figures


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.scale", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attempts", type=float, default=50e6)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--partners", type=int, default=50)
    parser.add_argument("--loads", type=int, default=20)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    warehouse = chosen.folder / "warehouse"
    week = Week(int(chosen.attempts), chosen.days, chosen.partners)
    figures: dict[str, object] = {}

    def note(name: str, found: object) -> None:
        figures[name] = found
        (chosen.folder / "scale.json").write_text(json.dumps(figures, indent=1) + "\n")
        print(f"{name}: {found}", flush=True)

    some = max(week.hours // 50, 1)
    note(f"ingest of {some} hours", load_through_pipe(map(week.hour, range(some)), warehouse))
    note(f"ingest of {week.hours} hours", load_through_pipe(week, warehouse))
    for table, taken in measure_tables(warehouse, 5).items():
        note(f"table {table}, ms", taken)
    note(f"{chosen.loads} loads of {SMALL_LINES} lines", small_loads(week, warehouse, chosen.loads))


if __name__ == "__main__":
    main()
