"""The warehouse as others meet it: what a load rewrites, who holds it, where it lies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from dashboard import tables
from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.snapshot import open_snapshot
from ingest.errors import BusyError, InputError
from ingest.load import ingest
from ingest.rebuild import rebuild
from ingest.settings import load_settings
from ingest.simulate import simulate
from ingest.snapshot.content import Publication
from ingest.snapshot.current import current_path, read_state
from ingest.snapshot.lock import writer_lock
from ingest.snapshot.publish import publish
from ingest.verify import verify


def attempt(number: int, hour: int = 0, **more: object) -> bytes:
    """A line: attempt `number` of a log, in an hour of 14 September 2026."""
    minute, second = divmod(number % 3600, 60)
    event = {
        "event": "attempt",
        "ts": f"2026-09-14T{hour:02}:{minute:02}:{second:02}Z",
        "auction_id": f"a{number}",
        "partner": "p",
        "http_status": 204,
    }
    return json.dumps(event | more).encode() + b"\n"


def parquet_files(warehouse: Path) -> dict[Path, tuple[int, int]]:
    """Every Parquet file with its inode and time of change."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in warehouse.rglob("*.parquet")}


@pytest.fixture(scope="module")
def eight_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a few minutes of each of eight days."""
    folder = tmp_path_factory.mktemp("eight")
    simulate(folder / "logs", 3, 4, 1.0, days=8)
    ingest([str(folder / "logs")], folder / "warehouse")
    return folder / "warehouse"


#: What one attempt may change: nothing of notices, chains of retries or postbacks.
REWRITTEN_FOR_AN_ATTEMPT = {
    "attempts",
    "auction_stages",
    "breaker_marks",
    "breaker_pieces",
    "calls",
    "expected_pieces",
    "placement_tails",
    "repeats",
    "throttles",
    "wasted_requests",
    "hour_latency",
    "hour_nodes",
    *(
        f"{grain}_{cube}"
        for grain in ("minute", "hour")
        for cube in ("attempts", "auctions", "audit", "calls", "rescues", "waits", "wasted")
    ),
}


@pytest.mark.slow
def test_a_small_load_rewrites_only_what_it_touches(eight_days: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    shutil.copytree(eight_days, warehouse)
    before = read_state(warehouse).parts
    log = tmp_path / "late.jsonl"
    log.write_bytes(attempt(1, hour=10))
    ingest([str(log)], warehouse)
    after = read_state(warehouse).parts
    gone = {part.path for part in before} - {part.path for part in after}
    new = {part.path for part in after} - {part.path for part in before}
    per_relation = {part.relation for part in after if part.path in new}
    assert len(new) == len(per_relation), "more than one new file for a relation"
    assert per_relation == REWRITTEN_FOR_AN_ATTEMPT
    replaced = sorted(part.relation for part in before if part.path in gone)
    assert replaced == sorted(REWRITTEN_FOR_AN_ATTEMPT - {"attempts"}), "facts only grow, of the rest one file each"
    touched_day = 1789344000000000
    for part in [*before, *after]:
        if part.path in gone | new and part.relation in ("calls", "minute_calls", "hour_calls", "minute_attempts"):
            assert part.unit_us // 86_400_000_000 * 86_400_000_000 == touched_day


def test_loading_the_same_again_writes_no_parquet(eight_days: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1) + attempt(2))
    ingest([str(log)], warehouse)
    before = parquet_files(warehouse)
    report = ingest([str(log)], warehouse)
    assert report.files[0].status == "unchanged"
    assert report.totals()["lines"] == 0
    assert parquet_files(warehouse) == before


@pytest.mark.slow
def test_the_order_of_loads_does_not_show_in_any_table(tmp_path: Path) -> None:
    simulate(tmp_path / "logs", 11, 3, 2.0)
    files = sorted(str(path) for path in (tmp_path / "logs").glob("*.jsonl"))
    ingest(files, tmp_path / "together")
    for path in reversed(files):
        ingest([path], tmp_path / "apart")
    one, other = open_snapshot(tmp_path / "together"), open_snapshot(tmp_path / "apart")
    for name in (
        "funnel",
        "losses",
        "outcomes",
        "calls",
        "retries",
        "fate",
        "flags",
        "breakers",
        "notices",
        "no_bids",
        "rate_limits",
        "latency",
    ):
        assert tables.rows(one, name, Filters()) == tables.rows(other, name, Filters()), name


def test_a_moved_warehouse_still_opens(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1))
    ingest([str(log)], tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    assert tables.rows(open_snapshot(tmp_path / "there"), "outcomes", Filters()) == [
        {"partner": "p", "outcome": "no_bid", "attempts": 1}
    ]


def test_guests_read_the_snapshot_with_any_duckdb(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1))
    ingest([str(log)], tmp_path / "warehouse")
    path = current_path(tmp_path / "warehouse")
    with duckdb.connect(str(path), read_only=True) as guest:
        assert guest.execute("select partner, outcome from attempts").fetchall() == [("p", "no_bid")]


def test_a_held_warehouse_says_who_holds_it(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1))
    with writer_lock(tmp_path / "warehouse"), pytest.raises(BusyError, match=f"process {os.getpid()} on"):
        ingest([str(log)], tmp_path / "warehouse")
    ingest([str(log)], tmp_path / "warehouse")


def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom ingest.snapshot.lock import writer_lock\n"
        "with writer_lock(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BusyError, match=f"process {holder.pid}"), writer_lock(tmp_path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with writer_lock(tmp_path):
            pass
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout:
            holder.stdout.close()


def test_a_snapshot_of_a_newer_version_is_refused_with_advice(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1))
    ingest([str(log)], tmp_path)
    path = current_path(tmp_path)
    assert path is not None
    with duckdb.connect(str(path)) as con:
        con.execute("update meta set value = '99' where key = 'schema_version'")
    with pytest.raises(InputError, match=r"newer version .*upgrade"):
        ingest([str(log)], tmp_path)
    with pytest.raises(UserError, match=r"upgrade"):
        open_snapshot(tmp_path)


def test_a_load_that_dies_before_the_publish_leaves_the_last_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1))
    ingest([str(log)], tmp_path / "w")
    log.write_bytes(attempt(1) + attempt(2))

    def dies(*_: object) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("ingest.run.publish", dies)
        with pytest.raises(KeyboardInterrupt):
            ingest([str(log)], tmp_path / "w")
    assert tables.rows(open_snapshot(tmp_path / "w"), "outcomes", Filters())[0]["attempts"] == 1
    ingest([str(log)], tmp_path / "w")
    assert tables.rows(open_snapshot(tmp_path / "w"), "outcomes", Filters())[0]["attempts"] == 2


@pytest.mark.slow
def test_a_setting_that_models_depend_on_asks_for_rebuild(tmp_path: Path) -> None:
    bid = {"http_status": 200, "bids": 1, "budget_ms": 300, "elapsed_ms": 0, "latency_ms": 265}
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1, **bid))
    warehouse = tmp_path / "warehouse"
    ingest([str(log)], warehouse)

    def in_auction() -> object:
        rows = tables.rows(open_snapshot(warehouse), "funnel", Filters())
        return next(row["count"] for row in rows if row["stage"] == "in_auction")

    assert in_auction() == 0
    (warehouse / "retrylens.toml").write_text("reserve_ms = 10\n")
    log.write_bytes(attempt(1, **bid) + attempt(2, **bid))
    with pytest.raises(InputError, match="rebuild"):
        ingest([str(log)], warehouse)
    rebuild(warehouse)
    assert in_auction() == 1
    ingest([str(log)], warehouse)
    assert in_auction() == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reserve_ms = 'soon'\n", "reserve_ms"),
        ("resrve_ms = 4\n", "unknown setting"),
        ("reserve_ms = \n", "TOML"),
        ("price_unit = 'cents'\n", "price_unit"),
    ],
)
def test_a_wrong_settings_file_names_the_setting(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "retrylens.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        load_settings(tmp_path, {})


def test_verify_finds_a_missing_and_a_damaged_file(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1))
    ingest([str(log)], tmp_path / "w")
    assert verify(tmp_path / "w") == []
    facts = next((tmp_path / "w" / "facts" / "attempts").iterdir())
    content = facts.read_bytes()
    facts.write_bytes(content[: len(content) // 2])
    assert any("attempts" in fault for fault in verify(tmp_path / "w"))
    facts.unlink()
    assert any("missing" in fault for fault in verify(tmp_path / "w"))


def test_files_that_no_snapshot_names_are_swept_after_a_grace_time(tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1))
    ingest([str(log)], warehouse)
    orphan = warehouse / "facts" / "attempts" / "crashed.parquet"
    orphan.write_bytes(b"half")
    ingest([str(log)], warehouse)
    assert orphan.exists(), "within the grace time a reader may still need it"
    past = time.time() - 3600
    os.utime(orphan, (past, past))
    ingest([str(log)], warehouse)
    assert not orphan.exists()


def test_a_publish_keeps_all_loads(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(attempt(1))
    ingest([str(log)], tmp_path / "w")
    state = read_state(tmp_path / "w")
    publish(tmp_path / "w", state, state.parts, Publication(load_settings(tmp_path / "w"), state.evidence))
    assert len(tables.rows(open_snapshot(tmp_path / "w"), "loads", Filters())) == 1
