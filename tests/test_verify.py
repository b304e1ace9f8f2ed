"""`retrylens verify`: each thing that can be wrong with a warehouse is one line that says what to do."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from ingest.cli import app
from ingest.errors import InputError
from ingest.load import ingest
from ingest.models.parts import Part
from ingest.models.relations import CUBES, FACTS
from ingest.options import Options
from ingest.rebuild import rebuild
from ingest.simulate import simulate
from ingest.snapshot.current import current_path, read_state
from ingest.verify import COUNTED, verify
from tests.loaded import at, attempt, postback

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of two streams, four days with two kept, and a second load with a reject."""
    folder = tmp_path_factory.mktemp("sound")
    simulate(folder / "logs", 5, 4, 1.0, days=4)
    (folder / "logs" / "truth.json").unlink()
    ingest([str(folder / "logs")], folder / "w", Options(keep_days=1))
    good = {"event": "attempt", "ts": "2026-09-17T10:00:00Z", "auction_id": "a", "partner": "p", "http_status": 204}
    (folder / "more.jsonl").write_text(json.dumps(good) + '\n{"event":"attempt"}\n', encoding="utf-8")
    ingest([str(folder / "more.jsonl")], folder / "w")
    return folder / "w"


@pytest.fixture
def warehouse(sound: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(sound, tmp_path / "w"))


def part_of(warehouse: Path, relation: str, *, empty: bool = False) -> Part:
    """The part of a relation with the most rows, or its empty one."""
    parts = [part for part in read_state(warehouse).parts if part.relation == relation]
    return (min if empty else max)(parts, key=lambda part: part.rows)


def flip(path: Path, place: int | None = None) -> None:
    """Turn one bit of a file, in its middle unless told otherwise."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if place is None else place] ^= 1
    path.write_bytes(content)


def change(warehouse: Path, *statements: str) -> None:
    """Change the snapshot as a fault of ours would have, under a name without digest."""
    path = current_path(warehouse)
    assert path is not None
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)
    path.rename(path.with_name("00000002-changed.duckdb"))
    (warehouse / "CURRENT").write_text("00000002-changed.duckdb\n")


def forge(warehouse: Path, relation: str, select: str) -> None:
    """Write another content into a part, and let the snapshot name its new sums."""
    part = part_of(warehouse, relation)
    path = warehouse / part.path
    other = path.with_name("forged.parquet")
    with duckdb.connect() as con:
        con.execute(f"copy ({select.format(part=path)}) to '{other}' (format parquet)")
        other.replace(path)
        [(rows,)] = con.execute(f"select count(*) from '{path}'").fetchall()
    change(warehouse, f"update files set digest = '', rows = {rows} where path = '{part.path}'")


def test_a_sound_warehouse_has_no_fault(sound: Path) -> None:
    assert verify(sound) == []
    assert read_state(sound).dropped_rows > 0
    assert all(part.digest and part.size for part in read_state(sound).parts)


def test_every_cube_is_checked() -> None:
    assert set(COUNTED) == {cube.name for cube in CUBES}


@pytest.mark.parametrize("relation", [*FACTS[:3], "postbacks", "rejects"])
def test_a_flipped_bit_of_facts_asks_to_restore(warehouse: Path, relation: str) -> None:
    part = part_of(warehouse, relation)
    flip(warehouse / part.path)
    (fault,) = verify(warehouse)
    assert fault == (
        f"{part.path}: its bytes are not those that were written;"
        " restore it from a backup, or load the logs into a new warehouse"
    )
    with pytest.raises(InputError, match=rf"{part.path}: its bytes .*restore it from a backup"):
        rebuild(warehouse)


@pytest.mark.parametrize("relation", ["calls", "hour_attempts", "breaker_states", "expected_pieces"])
def test_a_flipped_bit_of_a_model_asks_for_rebuild_which_mends_it(warehouse: Path, relation: str) -> None:
    newest = max((p for p in read_state(warehouse).parts if p.relation == relation), key=lambda p: p.unit_us)
    flip(warehouse / newest.path)
    (fault,) = verify(warehouse)
    assert fault == f"{newest.path}: its bytes are not those that were written; run `retrylens rebuild`"
    rebuild(warehouse)
    assert verify(warehouse) == []


def test_roll_ups_whose_facts_are_gone_cannot_be_rebuilt(warehouse: Path) -> None:
    oldest = min(
        (p for p in read_state(warehouse).parts if p.relation == "hour_attempts" and p.rows), key=lambda p: p.unit_us
    )
    (warehouse / oldest.path).unlink()
    (fault,) = verify(warehouse)
    assert fault.startswith(f"{oldest.path}: missing; restore it from a backup: the facts of its time are gone")


def test_missing_cut_and_grown_files_are_found(warehouse: Path) -> None:
    gone, cut, grown = (warehouse / part_of(warehouse, name).path for name in ("attempts", "notices", "auctions"))
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:-7])
    grown.write_bytes(grown.read_bytes() + b"x")
    faults = verify(warehouse)
    assert [fault.partition(";")[0].partition(": ")[2].split(",")[0].split(" ")[-1] for fault in faults] == [
        "missing",
        "bytes",
        "bytes",
    ]
    assert {fault.partition(":")[0] for fault in faults} == {
        str(path.relative_to(warehouse)) for path in (gone, cut, grown)
    }


def test_a_damaged_empty_part_is_made_again(warehouse: Path) -> None:
    flip(warehouse / part_of(warehouse, "calls", empty=True).path)
    (fault,) = verify(warehouse)
    assert "run `retrylens rebuild`" in fault
    rebuild(warehouse)
    assert verify(warehouse) == []


@pytest.mark.parametrize("place", [0, 5000, -5])
def test_a_flipped_bit_of_the_snapshot_points_to_the_one_before(warehouse: Path, place: int) -> None:
    path = current_path(warehouse)
    assert path is not None
    flip(path, place)
    (before,) = [one for one in (warehouse / "snapshots").iterdir() if one != path]
    (fault,) = verify(warehouse)
    assert fault.startswith(f"{path}: its bytes are not those that were written; restore it from a backup, or write")
    assert f"{before.name} into CURRENT" in fault
    (warehouse / "CURRENT").write_text(before.name + "\n")
    assert verify(warehouse) == []
    log = warehouse.parent / "more.jsonl"
    log.write_text('{"event":"attempt","ts":"2026-09-17T10:00:01Z","auction_id":"b","partner":"p","http_status":204}\n')
    ingest([str(log)], warehouse)
    assert verify(warehouse) == []


def test_a_cut_snapshot_is_one_fault(warehouse: Path) -> None:
    path = current_path(warehouse)
    assert path is not None
    path.write_bytes(path.read_bytes()[:4000])
    (fault,) = verify(warehouse)
    assert fault.startswith(f"{path}: ")
    change_name = path.with_name("00000002-cut.duckdb")
    path.rename(change_name)
    (warehouse / "CURRENT").write_text(change_name.name + "\n")
    (fault,) = verify(warehouse)
    assert fault.startswith(f"{change_name}: cannot be read")


@pytest.mark.parametrize("content", ["00000099-nothing.duckdb\n", "", None])
def test_a_pointer_to_nothing_names_what_it_could_point_to(warehouse: Path, content: str | None) -> None:
    path = current_path(warehouse)
    assert path is not None
    if content is None:
        (warehouse / "CURRENT").unlink()
    else:
        (warehouse / "CURRENT").write_text(content)
    (fault,) = verify(warehouse)
    assert fault.startswith(f"{warehouse / 'CURRENT'}: ")
    assert f"write {path.name} into CURRENT" in fault


def test_an_empty_folder_has_nothing_to_check(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing was loaded"):
        verify(tmp_path)


def test_lines_that_are_in_no_kind_are_found(warehouse: Path) -> None:
    change(warehouse, "update loads set lines = lines + 1 where load_id = 1")
    (fault,) = verify(warehouse)
    assert fault.startswith("load 1 of ")
    assert "its lines are not the sum of their kinds" in fault


def test_rejects_that_are_not_kept_are_found(warehouse: Path) -> None:
    forge(warehouse, "rejects", "select * from '{part}' limit 0")
    (fault,) = verify(warehouse)
    assert "1 rejects were counted and 0 are kept" in fault


def test_facts_that_no_part_names_any_more_are_found(warehouse: Path) -> None:
    part = part_of(warehouse, "auctions")
    change(warehouse, f"delete from files where path = '{part.path}'")
    faults = verify(warehouse)
    state = read_state(warehouse)
    held = state.fact_rows - state.dropped_rows - part.rows
    assert any(f"{held} are kept and {state.dropped_rows} went with age" in fault for fault in faults)


def test_rows_that_the_snapshot_counts_otherwise_are_found(warehouse: Path) -> None:
    part = part_of(warehouse, "calls")
    change(warehouse, f"update files set rows = rows + 1 where path = '{part.path}'")
    (fault,) = verify(warehouse)
    assert fault == f"{part.path}: {part.rows} rows, {part.rows + 1} expected; run `retrylens rebuild`"


@pytest.mark.parametrize(
    ("relation", "select", "said"),
    [
        ("hour_attempts", "select * replace (attempts + 1 as attempts) from '{part}'", "hour_attempts: counts"),
        ("minute_calls", "select * from '{part}' offset 1", "hour_calls: counts"),
        ("calls", "select * from '{part}' offset 1", "where calls, orders counts"),
        ("retries", "select * from '{part}' offset 1", "hour_retries: counts"),
        ("deliveries", "select * from '{part}' offset 1", "deliveries: counts"),
        ("postback_results", "select * from '{part}' offset 1", "postback_results: counts"),
        ("auction_stages", "select * from '{part}' offset 1", "hour_auctions: counts"),
    ],
)
def test_models_that_do_not_agree_are_found_and_rebuilt(warehouse: Path, relation: str, select: str, said: str) -> None:
    forge(warehouse, relation, select)
    faults = verify(warehouse)
    assert any(said in fault for fault in faults), faults
    assert all(fault.endswith("run `retrylens rebuild`") for fault in faults)
    if read_state(warehouse).facts_from_us <= part_of(warehouse, relation).unit_us:
        rebuild(warehouse)
        assert verify(warehouse) == []


def test_the_command_says_each_fault_and_exits_1(warehouse: Path) -> None:
    ran = CliRunner().invoke(app, ["verify", "--warehouse", str(warehouse)])
    assert (ran.exit_code, ran.stdout) == (0, f"{warehouse}: sound\n")
    part = part_of(warehouse, "calls")
    (warehouse / part.path).unlink()
    ran = CliRunner().invoke(app, ["verify", "--warehouse", str(warehouse)])
    assert ran.exit_code == 1
    assert ran.stdout == f"{part.path}: missing; run `retrylens rebuild`\n"
    assert ran.stderr == f"{warehouse}: 1 fault\n"


def test_what_a_snapshot_names_stands_on_the_disk_before_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every new file and the folders that name it are synced when CURRENT is renamed: power may go at any moment."""
    synced: set[str] = set()
    seen: list[set[str]] = []
    fsync, rename = os.fsync, Path.replace

    def noting(handle: int) -> None:
        fsync(handle)
        synced.add(os.readlink(f"/proc/self/fd/{handle}"))

    def renaming(self: Path, target: Path) -> Path:
        if target.name == "CURRENT":
            seen.append(set(synced))
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(Path, "replace", renaming)
    warehouse = tmp_path / "w"
    before: set[Path] = set()
    for number in range(2):
        log = tmp_path / f"{number}.jsonl"
        events = [attempt(at(number), f"a{number}"), postback(at(number), "k", "o")]
        log.write_text("".join(json.dumps(event) + "\n" for event in events))
        ingest([str(log)], warehouse)
        new = {warehouse / part.path for part in read_state(warehouse).parts} - before
        before |= new
        assert len(new) > 15
        wanted = {str(path.resolve()) for one in new for path in (one, one.parent)}
        assert wanted <= seen[-1]
        assert {str(warehouse.resolve()), str((warehouse / "snapshots").resolve())} <= seen[-1]
        synced.clear()
    assert len(seen) == 2
