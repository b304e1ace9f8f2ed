"""A disk that runs full in the middle of a load, at many points: one clear line, what was loaded stands, and the next
load does it all once there is room. The disk is a small tmpfs, so only root can run these."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.snapshot import open_snapshot
from ingest.errors import StorageError
from ingest.follow import Follower
from ingest.load import ingest
from ingest.options import Options
from ingest.rebuild import rebuild
from ingest.snapshot.lock import FILE
from ingest.verify import verify
from tests.conftest import REPOSITORY
from tests.loaded import at, attempt, postback

pytestmark = pytest.mark.slow

MB = 1 << 20
POINTS = 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 64 MB."""
    folder = tmp_path_factory.mktemp("disk")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "retrylens-test", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here, which takes root: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def log(path: Path, name: str, lines: int) -> str:
    """Events of nine hours, and some broken lines."""
    events = [attempt(at(n * 8), f"{name}{n}", partner=f"p{n % 9}", latency_ms=n % 97) for n in range(lines)]
    events += [postback(at(n * 8), order=f"{name}{n}") for n in range(lines // 4)]
    broken = '{"event":"attempt","ts":"never"}\n' * (lines // 10)
    path.write_text("".join(json.dumps(event) + "\n" for event in events) + broken)
    return str(path)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A warehouse that holds a first log, and the log that comes when there is no room."""
    folder = tmp_path_factory.mktemp("logs")
    ingest([log(folder / "first.jsonl", "A", 1000)], folder / "w")
    return folder / "w", log(folder / "second.jsonl", "B", 4000)


def free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def fill(folder: Path, left: int) -> Path:
    """Takes all of the disk but `left` bytes."""
    ballast = folder / "ballast"
    with ballast.open("wb") as out:
        os.posix_fallocate(out.fileno(), 0, max(free(folder) - left, 1))
    return ballast


def fresh(folder: Path, base: Path) -> Path:
    """A copy of the warehouse on the disk, and nothing else there."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return Path(shutil.copytree(base, folder / "w"))


def contents(warehouse: Path) -> tuple[list[tuple[object, ...]], list[str], list[str]]:
    """What a reader sees, what is wrong with it, and the files of the warehouse."""
    snapshot = open_snapshot(warehouse)
    seen = snapshot.query(
        "select (select count(*) from attempts), (select sum(attempts_sent) from calls),"
        " (select count(*) from postbacks), (select sum(attempts) from minute_attempts),"
        " (select sum(rejects) from loads), (select count(*) from rejects)"
    )
    snapshot.close()
    files = sorted(str(path.relative_to(warehouse)) for path in warehouse.rglob("*") if path.name != FILE)
    return seen, verify(warehouse), files


def refusal(path: str, warehouse: Path) -> str | None:
    """What a load says that found no room; None where it went through."""
    try:
        ingest([path], warehouse)
    except StorageError as error:
        return str(error)
    return None


def needed(folder: Path, logs: tuple[Path, str]) -> int:
    """The bytes that loading the second log takes at its worst moment."""
    warehouse = fresh(folder, logs[0])
    before, least, done = free(folder), [free(folder)], threading.Event()

    def watch() -> None:
        while not done.is_set():
            least.append(free(folder))
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    ingest([logs[1]], warehouse)
    done.set()
    watcher.join()
    return before - min(least)


def test_wherever_the_disk_runs_full_nothing_is_lost_and_the_next_load_does_it_all(
    disk: Path, logs: tuple[Path, str]
) -> None:
    most = needed(disk, logs)
    failed = 0
    for point in range(POINTS):
        warehouse = fresh(disk, logs[0])
        before = contents(warehouse)
        ballast = fill(disk, most * point // POINTS)
        told = refusal(logs[1], warehouse)
        if told is not None:
            failed += 1
            assert "no space left" in told
            assert contents(warehouse) == before, point
        ballast.unlink()
        ingest([logs[1]], warehouse)
        seen, faults, _ = contents(warehouse)
        assert (seen, faults) == ([(5000, 5000, 1250, 5000, 500, 500)], []), point
    assert failed >= POINTS * 3 // 4


def test_the_command_says_in_one_line_what_to_do(disk: Path, logs: tuple[Path, str]) -> None:
    warehouse = fresh(disk, logs[0])
    fill(disk, 65536)
    command = "from ingest.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "ingest", logs[1], "--warehouse", str(warehouse)],
        capture_output=True, text=True, cwd=REPOSITORY, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"{warehouse}: no space left, 0.1 MB are free; nothing of this run was kept")
    assert done.stderr.endswith("Make room and run it again\n")
    assert done.stderr.count("\n") == 1


def test_a_disk_without_a_byte_left_is_told_of_too(disk: Path, logs: tuple[Path, str]) -> None:
    warehouse = fresh(disk, logs[0])
    before = contents(warehouse)
    ballast = fill(disk, 0)
    while free(disk):
        with ballast.open("ab") as out:
            out.write(b"\0" * free(disk))
    with pytest.raises(StorageError, match="no space left"):
        ingest([logs[1]], warehouse)
    assert contents(warehouse) == before


def test_a_rebuild_that_finds_no_room_leaves_all_as_it_was(disk: Path, logs: tuple[Path, str]) -> None:
    warehouse = fresh(disk, logs[0])
    before = contents(warehouse)
    ballast = fill(disk, 300_000)
    with pytest.raises(StorageError, match="no space left"):
        rebuild(warehouse)
    assert contents(warehouse) == before
    ballast.unlink()
    rebuild(warehouse)
    assert contents(warehouse)[:2] == before[:2]


def test_a_follower_waits_for_room_and_then_loads_by_itself(disk: Path, logs: tuple[Path, str], tmp_path: Path) -> None:
    warehouse = fresh(disk, logs[0])
    ballast = fill(disk, 100_000)
    growing = Path(shutil.copy(logs[1], tmp_path / "growing.jsonl"))
    said: list[str] = []
    loaded = threading.Event()
    follower = Follower(
        [str(growing)],
        warehouse,
        Options(),
        every_s=0.1,
        on_load=lambda report: loaded.set(),
        on_wait=said.append,
    )
    runs = threading.Thread(target=follower.run)
    runs.start()
    until = time.monotonic() + 60
    while not said and time.monotonic() < until:
        time.sleep(0.05)
    ballast.unlink()
    with growing.open("a") as out:
        out.write(json.dumps(attempt(at(0), "last")) + "\n")
    assert loaded.wait(60)
    follower.stop()
    runs.join()
    assert "no space left" in said[0]
    assert contents(warehouse)[:2] == ([(5001, 5001, 1250, 5001, 500, 500)], [])
