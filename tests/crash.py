"""Loads that are killed: `python -m tests.crash FOLDER --kills N [--seed N]`.

A writer appends lines (good and bad), rotates and compresses files; each load of them runs in a process of its own,
and is ended by SIGKILL at a random moment, or just when a certain file of its appears. Another process polls the
warehouse all the while. In the end one load runs through, and every line must be there once. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb

from dashboard.snapshot import current_name, open_snapshot
from ingest.load import ingest
from ingest.verify import verify
from tests.polling import await_publish

ROUND_LINES = 40
#: Lines of a new log: more than the first KiB, by which a file is known again once it grew under another name.
KNOWN_LINES = 20
#: Patterns below the warehouse: a load is killed when it makes a file there that was not there before.
MOMENTS = (
    "snapshots/.*.duckdb",
    "snapshots/0*.duckdb",
    ".CURRENT-*",
    "rejects/*.parquet",
    "facts/*/*",
    "models/*/*",
    "facts/*/*-merged.parquet",
)
BARS = (
    "select (select count(*) from attempts), (select coalesce(sum(attempts_sent), 0) from calls),"
    " (select coalesce(sum(attempts), 0) from minute_attempts), (select coalesce(sum(attempts), 0) from hour_attempts),"
    " (select coalesce(sum(facts), 0) from loads)"
)


@dataclass
class Outcome:
    """What came of the kills. `lost`, `doubled`, `reader_errors`, `torn` and `faults` are to be nothing."""

    kills: int = 0
    through: int = 0
    lost: int = 0
    doubled: int = 0
    rejects: int = 0
    rejects_expected: int = 0
    reads: int = 0
    torn: int = 0
    reader_errors: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    slowest_restart_s: float = 0.0
    usual_s: float = 0.0
    leftovers: list[str] = field(default_factory=list)


class Writer:
    """Grows the logs of a folder; knows every id that it wrote and how many lines are broken."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng
        self.ids: set[str] = set()
        self.bad = 0
        self._rotated = 0
        folder.mkdir(parents=True)

    def write(self) -> None:
        """Some lines more, and sometimes a rotation, a compression, or a line that ends later."""
        log = self.folder / "live.jsonl"
        fewest = 1 if log.exists() else KNOWN_LINES
        with log.open("ab") as out:
            for _ in range(self.rng.randint(fewest, ROUND_LINES)):
                out.write(self._line())
        turn = self.rng.random()
        if turn < 0.15:
            self._rotated += 1
            log.rename(self.folder / f"live.{self._rotated}.jsonl")
        elif turn < 0.25 and self._rotated:
            old = self.folder / f"live.{self._rotated}.jsonl"
            if old.exists():
                packed = old.with_suffix(".jsonl.gz.tmp")
                packed.write_bytes(gzip.compress(old.read_bytes()))
                packed.rename(old.with_suffix(".jsonl.gz"))
                old.unlink()

    def _line(self) -> bytes:
        if self.rng.random() < 0.05:
            self.bad += 1
            return b'{"event":"attempt","ts":"2026-09-14T11:00:00Z"\n'
        name = f"a{len(self.ids)}"
        self.ids.add(name)
        minute, second = divmod(len(self.ids), 60)
        event = {
            "event": "attempt",
            "ts": f"2026-09-{14 + self.rng.randint(0, 2)}T{11 + minute // 60 % 3:02}:{minute % 60:02}:{second:02}Z",
            "auction_id": name,
            "partner": self.rng.choice("pqr"),
            "http_status": 204,
        }
        return json.dumps(event).encode() + b"\n"


def soak(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill `kills` loads of a growing folder of logs, then let one run through and count."""
    rng = random.Random(seed)
    writer, warehouse = Writer(folder / "logs", rng), folder / "warehouse"
    warehouse.mkdir()
    (warehouse / "retrylens.toml").write_text("snapshot_grace_s = 2\n")
    logs, outcome, took = [str(folder / "logs")], Outcome(), [0.3]
    writer.write()
    _child(lambda: _load(logs, warehouse))
    reader = _start(lambda: _read(warehouse, folder / "reads.json"))
    killed = False
    while outcome.kills < kills:
        writer.write()
        began = time.monotonic()
        moment = rng.choice(MOMENTS) if rng.random() < 0.5 and not killed else None
        wait = 60.0 if killed else rng.uniform(0, 1.2 * statistics.median(took[-20:]))
        done = _kill_after(_start(lambda: _load(logs, warehouse)), warehouse, wait, moment)
        seconds = time.monotonic() - began
        if done:
            outcome.through += 1
            took.append(seconds)
            if killed:
                outcome.slowest_restart_s = max(outcome.slowest_restart_s, seconds)
        else:
            outcome.kills += 1
        killed = not done and rng.random() < 0.3
    outcome.usual_s = statistics.median(took)
    for _ in range(2):  # the first lets the last files go, the second finds their grace time over
        time.sleep(2.1)
        _child(lambda: _load(logs, warehouse))
    os.kill(reader, signal.SIGTERM)
    os.waitpid(reader, 0)
    _judge(outcome, writer, warehouse, folder / "reads.json")
    return outcome


def _judge(outcome: Outcome, writer: Writer, warehouse: Path, reads: Path) -> None:
    told = json.loads(reads.read_text())
    outcome.reads, outcome.torn, outcome.reader_errors = told["reads"], told["torn"], told["errors"]
    snapshot = open_snapshot(warehouse)
    found = [row[0] for row in snapshot.query("select auction_id from attempts")]
    outcome.lost, outcome.doubled = len(writer.ids - set(found)), len(found) - len(set(found))
    outcome.rejects = int(snapshot.query("select coalesce(sum(rejects), 0) from loads")[0][0])
    outcome.rejects_expected = writer.bad
    snapshot.close()
    outcome.faults = verify(warehouse)
    outcome.leftovers = sorted(_leftovers(warehouse))


def _leftovers(warehouse: Path) -> set[str]:
    """Drafts, and Parquet files that neither of the last two snapshots names."""
    named: set[str] = set()
    for path in sorted((warehouse / "snapshots").glob("*.duckdb"))[-2:]:
        with duckdb.connect(str(path), read_only=True) as con:
            named |= {row[0] for row in con.execute("select path from files").fetchall()}
    held = {str(path.relative_to(warehouse)) for path in warehouse.rglob("*.parquet")}
    drafts = (*warehouse.glob(".CURRENT-*"), *(warehouse / "snapshots").glob(".*"))
    return held - named | {path.name for path in drafts}


def _start(work: Callable[[], None]) -> int:
    """Do `work` in a process of its own; gives its id."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def _child(work: Callable[[], None]) -> None:
    os.waitpid(_start(work), 0)


def _load(logs: list[str], warehouse: Path) -> None:
    ingest(logs, warehouse)


def _kill_after(child: int, warehouse: Path, seconds: float, moment: str | None) -> bool:
    """Kill the load after `seconds` or at its moment; whether it had ended before."""
    before = set(warehouse.glob(moment)) if moment else set()
    until = time.monotonic() + (30 if moment else seconds)
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        if moment and set(warehouse.glob(moment)) - before:
            break
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _read(warehouse: Path, told: Path) -> None:
    """Poll the warehouse until SIGTERM, then write what was seen."""
    seen: dict[str, object] = {}
    reads = torn = 0
    errors: list[str] = []
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    while not stopped:
        try:
            name = current_name(warehouse)
            snapshot = open_snapshot(warehouse)
            row = snapshot.query(BARS)[0]
            snapshot.close()
            reads += 1
            torn += len(set(row)) > 1
            await_publish(warehouse, name)
        except Exception as error:  # any failure of a reader is what this looks for
            errors.append(repr(error)[:300])
    seen.update(reads=reads, torn=torn, errors=errors[:20])
    told.write_text(json.dumps(seen))


def main() -> None:
    """Entry point of the process that forks: it holds no connection of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(json.dumps(asdict(soak(options.folder, options.kills, options.seed))))


if __name__ == "__main__":
    main()
