"""`retrylens ingest --follow` as a service runs it: a process of its own, files that come, grow, move and vanish."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.snapshot import open_snapshot

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0


def attempt(name: str) -> bytes:
    event = {"event": "attempt", "ts": "2026-09-14T11:00:00Z", "auction_id": name, "partner": "p", "http_status": 204}
    return json.dumps(event).encode() + b"\n"


class Service:
    """The command, with the loads that it told of."""

    def __init__(self, *arguments: str, warehouse: Path) -> None:
        self.warehouse = warehouse
        self.loads: list[dict[str, Any]] = []
        self.said: list[str] = []
        command = "from dashboard.cli import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", command, "ingest", *arguments, "--follow", "--every", "0.2", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"RETRYLENS_WAREHOUSE": str(warehouse)},
        )
        pipes = ((self.process.stdout, self._load), (self.process.stderr, self.said.append))
        self._listeners = [threading.Thread(target=self._listen, args=pipe) for pipe in pipes]
        for listener in self._listeners:
            listener.start()

    def _listen(self, pipe: Any, into: Callable[[str], None]) -> None:
        with pipe:
            for line in pipe:
                into(line)

    def _load(self, line: str) -> None:
        self.loads.append(json.loads(line))

    def facts(self) -> int:
        """Facts of all loads so far."""
        return sum(load["totals"]["facts"] for load in self.loads)

    def kill(self) -> None:
        """End it whatever it does."""
        self.process.kill()
        self.process.wait()
        for listener in self._listeners:
            listener.join()

    def stop(self) -> int:
        """Ask it to end; gives its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def follow(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts services; those that still run in the end are killed."""
    started: list[Service] = []

    def start(*arguments: str) -> Service:
        started.append(Service(*arguments, warehouse=tmp_path / "warehouse"))
        wait_for(lambda: any(line.startswith("following") for line in started[-1].said))
        return started[-1]

    yield start
    for service in started:
        service.kill()


def wait_for(done: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


def stored(warehouse: Path) -> list[str]:
    snapshot = open_snapshot(warehouse)
    try:
        return sorted(row[0] for row in snapshot.query("select auction_id from attempts"))
    finally:
        snapshot.close()


def test_what_comes_is_loaded_once_whatever_becomes_of_the_file(follow: Callable[..., Service], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    service = follow(str(logs))
    live = logs / "live.jsonl"
    live.write_bytes(attempt("a1"))
    wait_for(lambda: service.facts() == 1)
    with live.open("ab") as log:  # it grows by a line, and by one that is not finished
        log.write(attempt("a2") + attempt("a3")[:20])
    wait_for(lambda: service.facts() == 2)
    with live.open("ab") as log:
        log.write(attempt("a3")[20:])
    wait_for(lambda: service.facts() == 3)
    live.rename(logs / "live.1")  # it is rotated, and a new one begins
    live.write_bytes(attempt("a4"))
    wait_for(lambda: service.facts() == 4)
    packed = logs / ".live.1.gz"  # the old one is compressed
    packed.write_bytes(gzip.compress((logs / "live.1").read_bytes()))
    packed.rename(logs / "live.1.gz")
    (logs / "live.1").unlink()
    shutil.copy(live, logs / "live.2")  # the new one is copied and cut to nothing
    live.write_bytes(b"")
    with live.open("ab") as log:
        log.write(attempt("a5"))
    wait_for(lambda: service.facts() == 5)
    assert service.stop() == 0
    assert stored(service.warehouse) == ["a1", "a2", "a3", "a4", "a5"]


def test_a_folder_may_come_later_and_files_may_vanish(follow: Callable[..., Service], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_bytes(attempt("a1"))
    service = follow(str(tmp_path / "logs"), str(tmp_path / "soon" / "*.jsonl"))
    wait_for(lambda: service.facts() == 1)
    (tmp_path / "logs" / "a.jsonl").unlink()
    (tmp_path / "logs" / "b.jsonl").write_bytes(attempt("b1"))
    wait_for(lambda: service.facts() == 2)
    (tmp_path / "soon").mkdir()
    (tmp_path / "soon" / "c.jsonl").write_bytes(attempt("c1"))
    (tmp_path / "logs" / "d.jsonl").write_bytes(attempt("d1"))  # wakes it: what is not watched yet is looked for
    wait_for(lambda: service.facts() == 4)
    (tmp_path / "soon" / "e.jsonl").write_bytes(attempt("e1"))
    wait_for(lambda: service.facts() == 5)
    assert service.stop() == 0
    assert stored(service.warehouse) == ["a1", "b1", "c1", "d1", "e1"]


def test_a_refused_file_is_told_of_once_and_loads_when_mended(follow: Callable[..., Service], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    service = follow(str(logs))
    (logs / "bad.jsonl.gz").write_bytes(gzip.compress(attempt("a1"))[:-6])
    wait_for(lambda: [line for line in service.said if ": refused: " in line])
    for number in range(3):
        (logs / f"good{number}.jsonl").write_bytes(attempt(f"g{number}"))
        wait_for(lambda number=number: service.facts() == number + 1)
    assert len([line for line in service.said if ": refused: " in line]) == 1
    (logs / "bad.jsonl.gz").write_bytes(gzip.compress(attempt("a1")))
    wait_for(lambda: service.facts() == 4)
    assert service.stop() == 0
    assert stored(service.warehouse) == ["a1", "g0", "g1", "g2"]


def test_standing_still_publishes_nothing(follow: Callable[..., Service], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_bytes(attempt("a1"))
    service = follow(str(logs))
    wait_for(lambda: service.facts() == 1)
    snapshots = sorted((service.warehouse / "snapshots").iterdir())
    os.utime(logs / "a.jsonl")
    (logs / ".hidden").write_bytes(b"x")
    time.sleep(2)
    (logs / "b.jsonl").write_bytes(attempt("b1"))
    wait_for(lambda: service.facts() == 2)
    assert len(service.loads) == 2
    assert len(sorted((service.warehouse / "snapshots").iterdir())) <= len(snapshots) + 2
    assert service.stop() == 0


def test_a_pipe_cannot_be_followed(tmp_path: Path) -> None:
    command = "from dashboard.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "ingest", "-", "--follow", "--warehouse", str(tmp_path / "w")],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert "leave out -" in done.stderr
