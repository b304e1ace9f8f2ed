"""Two writers of one warehouse, as processes: the second says who holds it, and a dead holder holds nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dashboard.snapshot import open_snapshot
from ingest.errors import InputError
from ingest.load import ingest
from ingest.snapshot.lock import FILE, writer_lock
from tests.conftest import REPOSITORY
from tests.loaded import at, attempt

pytestmark = pytest.mark.slow

LOAD = [sys.executable, "-c", "from ingest.cli import main; main()", "ingest"]


def log(folder: Path, name: str, *auctions: str) -> str:
    path = folder / name
    path.write_text("".join(json.dumps(attempt(at(n), auction)) + "\n" for n, auction in enumerate(auctions)))
    return str(path)


def load(*arguments: str, warehouse: Path) -> subprocess.CompletedProcess[str]:
    command = [*LOAD, *arguments, "--warehouse", str(warehouse)]
    return subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)


def auctions(warehouse: Path) -> list[str]:
    snapshot = open_snapshot(warehouse)
    found = [row[0] for row in snapshot.query("select auction_id from attempts order by 1")]
    snapshot.close()
    return found


@contextmanager
def reading_a_pipe(warehouse: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A load that holds the warehouse, for its input does not end."""
    process = subprocess.Popen(
        [*LOAD, "-", "--warehouse", str(warehouse)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY
    )
    try:
        until = time.monotonic() + 60
        while not ((warehouse / FILE).exists() and (warehouse / FILE).stat().st_size):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_second_says_who_holds_it_and_loads_once_that_one_is_done(tmp_path: Path) -> None:
    warehouse, late = tmp_path / "w", log(tmp_path, "late.jsonl", "B")
    with reading_a_pipe(warehouse) as holder:
        told = load(late, warehouse=warehouse)
        assert told.returncode == 1
        assert told.stdout == ""
        assert f"another ingest holds it (process {holder.pid} on " in told.stderr
        assert told.stderr.count("\n") == 1
        holder.communicate((json.dumps(attempt(at(1), "A")) + "\n").encode())
        assert holder.returncode == 0
    assert auctions(warehouse) == ["A"]
    assert load(late, warehouse=warehouse).returncode == 0
    assert auctions(warehouse) == ["A", "B"]


def test_a_dead_holder_holds_nothing_and_what_it_left_goes(tmp_path: Path) -> None:
    warehouse, late = tmp_path / "w", log(tmp_path, "late.jsonl", "B")
    ingest([log(tmp_path, "early.jsonl", "A")], warehouse)
    with reading_a_pipe(warehouse) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    (warehouse / "tmp").mkdir(exist_ok=True)
    (warehouse / "tmp" / "segment.ndjson").write_text("raw")
    orphan = warehouse / "facts" / "attempts" / "20000-00000002-0badcafe.parquet"
    orphan.write_bytes(b"")
    published = sorted(warehouse.glob("facts/*/*-00000001-*"))
    done = load(late, warehouse=warehouse)
    assert (done.returncode, done.stderr) == (0, "")
    assert auctions(warehouse) == ["A", "B"]
    assert not orphan.exists()
    assert not (warehouse / "tmp").exists()
    assert published == sorted(warehouse.glob("facts/*/*-00000001-*")) != []


def test_many_at_once_load_each_line_once(tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    files = [log(tmp_path, f"{name}.jsonl", *(f"{name}{n}" for n in range(50))) for name in "abcd"]
    command = [*LOAD, *files, "--warehouse", str(warehouse)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY) for _ in range(4)
    ]
    said = [process.communicate()[1] for process in started]
    codes = [process.returncode for process in started]
    assert 0 in codes
    assert set(codes) <= {0, 1}
    assert all((code == 1) == (b"another ingest holds it" in told) for code, told in zip(codes, said, strict=True))
    assert load(*files, warehouse=warehouse).returncode == 0
    assert len(auctions(warehouse)) == len(set(auctions(warehouse))) == 200


def write_and_fail(warehouse: Path) -> None:
    """What a load may have written when something goes wrong, up to the moment before its publish."""
    (warehouse / "tmp").mkdir()
    (warehouse / "facts" / "attempts" / "20000-00000002-0badcafe-1.parquet").touch()
    (warehouse / "snapshots" / ".00000002-1.duckdb").touch()
    (warehouse / "snapshots" / "00000002-abc.duckdb").touch()
    (warehouse / ".CURRENT-1").touch()
    raise InputError("wrong")


def test_a_failed_writer_leaves_the_lock_free_and_nothing_behind(tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    ingest([log(tmp_path, "a.jsonl", "A")], warehouse)
    before = {path for path in warehouse.rglob("*") if path.name != FILE}
    with pytest.raises(InputError), writer_lock(warehouse):
        write_and_fail(warehouse)
    assert {path for path in warehouse.rglob("*") if path.name != FILE} == before
    assert (warehouse / FILE).stat().st_size == 0


def test_the_leftovers_of_an_older_crash_go_but_nothing_that_was_published(tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    for name in "abc":
        ingest([log(tmp_path, f"{name}.jsonl", name)], warehouse)
    before = sorted(warehouse.rglob("*.parquet"))
    with pytest.raises(InputError), writer_lock(warehouse):
        raise InputError("wrong")
    assert sorted(warehouse.rglob("*.parquet")) == before
    assert auctions(warehouse) == ["a", "b", "c"]
