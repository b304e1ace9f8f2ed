"""`python -m tests.benchmarks [--lines N] [--times N]`: ingest and tables, beside the engine's bare work.

Writes artifacts/benchmarks.json and prints the same figures. Nothing here passes or fails.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot, open_snapshot
from ingest.simulate import simulate
from tests.benchmarks.process import in_turn, run

MINUTE_US = 60_000_000
LINES_PER_AUCTION = 11.5
TABLES = (
    "funnel",
    "losses",
    "outcomes",
    "no_bids",
    "calls",
    "retries",
    "fate",
    "audit",
    "flags",
    "breakers",
    "rate_limits",
    "windows",
    "retry_after",
    "orders",
    "order_faults",
    "signatures",
    "backoff",
    "notices",
    "latency",
    "loads",
    "rejects",
    "metrics",
)


def make_log(folder: Path, lines: int) -> Path:
    """One file of about `lines` simulated lines over half an hour."""
    minutes = 30
    simulate(folder / "logs", 1, minutes, lines / LINES_PER_AUCTION / minutes / 60)
    log = folder / "simulated.jsonl"
    with log.open("wb") as out:
        for part in sorted((folder / "logs").glob("*.jsonl")):
            out.write(part.read_bytes())
    shutil.rmtree(folder / "logs")
    return log


def without_bodies(log: Path) -> Path:
    """The same lines with the answer's body left out."""
    out = log.with_name("bodiless.jsonl")
    with log.open("rb") as source, out.open("wb") as target:
        for line in source:
            event = json.loads(line)
            if event.pop("body", None) is not None:
                event["bids"] = 1 if event.get("http_status") == 200 else 0
            target.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")
    return out


def with_bad_lines(log: Path) -> Path:
    """The same lines, every hundredth of them cut."""
    out = log.with_name("dirty.jsonl")
    with log.open("rb") as source, out.open("wb") as target:
        for number, line in enumerate(source):
            target.write(line[: len(line) // 2].rstrip(b"\n") + b"\n" if number % 100 == 99 else line)
    return out


def measure_ingest(log: Path, times: int) -> dict[str, float]:
    """CPU, wall and memory of a whole ingest, and the ratios to the engine's typed COPY."""
    folder = log.parent
    warehouse, copied = folder / "warehouse", folder / "bare.parquet"

    def ours() -> object:
        shutil.rmtree(warehouse, ignore_errors=True)
        return run(["tests.benchmarks.work", "ingest", str(log), str(warehouse)])

    def bare() -> object:
        copied.unlink(missing_ok=True)
        return run(["tests.benchmarks.work", "bare", str(log), str(copied)])

    mine, theirs = in_turn(ours, bare, times)  # type: ignore[arg-type]
    with log.open("rb") as source:
        lines = sum(1 for _ in source)
    return {
        "lines": lines,
        "mb": round(log.stat().st_size / 1e6, 1),
        "bare_cpu_s": round(theirs.cpu_s, 2),
        "bare_wall_s": round(theirs.wall_s, 2),
        "cpu_s": round(mine.cpu_s, 2),
        "wall_s": round(mine.wall_s, 2),
        "cpu_ratio": round(mine.cpu_s / theirs.cpu_s, 2),
        "wall_ratio": round(mine.wall_s / theirs.wall_s, 2),
        "peak_mb": round(mine.peak_mb),
    }


def milliseconds(snapshot: Snapshot, name: str, filters: Filters, times: int) -> float:
    """Median of a warm result table."""
    tables.rows(snapshot, name, filters)
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        tables.rows(snapshot, name, filters)
        taken.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(taken), 1)


def measure_tables(warehouse: Path, times: int) -> dict[str, dict[str, float]]:
    """Each table over all data, over minutes, and over a range with broken minutes; beside one bare aggregate."""
    snapshot = open_snapshot(warehouse)
    span = snapshot.streams["exchange"]
    assert span.first_us is not None
    assert span.newest_us is not None
    lo = (span.first_us // MINUTE_US + 2) * MINUTE_US
    hi = (span.newest_us // MINUTE_US - 2) * MINUTE_US
    ranges = {
        "all": Filters(),
        "minutes": Filters(frm_us=lo, to_us=hi),
        "broken": Filters(frm_us=lo + 12_345_678, to_us=hi - 7_654_321),
    }
    taken = {
        name: {key: milliseconds(snapshot, name, chosen, times) for key, chosen in ranges.items()} for name in TABLES
    }
    partner = str(tables.rows(snapshot, "calls", Filters())[0]["partner"])
    taken["attempts of a partner"] = {"all": milliseconds(snapshot, "attempts", Filters(partners=(partner,)), times)}
    with snapshot.cursor() as cursor:
        bare = []
        for _ in range(times + 1):
            began = time.perf_counter()
            cursor.execute("select partner, outcome, count(*) from attempts group by all").fetchall()
            bare.append((time.perf_counter() - began) * 1000)
    taken["bare: attempts by partner and outcome"] = {"all": round(statistics.median(bare[1:]), 1)}
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        log = make_log(Path(name), chosen.lines)
        figures: dict[str, object] = {}
        logs = {"without bodies": without_bodies(log)}
        logs["1 % bad lines"] = with_bad_lines(logs["without bodies"])
        logs["as simulated, with bodies"] = log
        for title, path in logs.items():
            figures[f"ingest {title}"] = measure_ingest(path, chosen.times)
            print(f"ingest {title}: {figures[f'ingest {title}']}", flush=True)
        figures["tables, ms"] = measure_tables(log.parent / "warehouse", max(5, chosen.times))
        for table, taken in figures["tables, ms"].items():  # type: ignore[attr-defined]
            print(f"{table:40} {taken}")
    out = Path("artifacts/benchmarks.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
