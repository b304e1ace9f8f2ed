"""What a warehouse does with its own files: small ones are merged, days that are not kept go, roll-ups stay."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import open_snapshot
from ingest import compact as compaction
from ingest.errors import InputError
from ingest.facts.store import order_of
from ingest.load import ingest
from ingest.models.parts import DAY_ROWS, Part, Parts
from ingest.models.relations import DAY_US, FACTS, HOUR_US
from ingest.options import Options
from ingest.rebuild import rebuild
from ingest.report import RunReport
from ingest.settings import Settings, load_settings
from ingest.simulate import simulate
from ingest.snapshot.current import SCHEMA_VERSION, current_path, read_state
from ingest.snapshot.digest import file_digest
from ingest.sources.marks import PLAIN, Trace
from ingest.verify import verify
from tests.loaded import Event, attempt, postback

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent

BEGIN = datetime(2026, 9, 14, tzinfo=UTC)
#: Tables that are read from single events, or partly so: their figures need the facts of the range.
OF_EVENTS = {"attempts", "postbacks", "orders", "order_faults", "windows", "signatures", "backoff", "breakers"}
EVERYTHING = Filters()
#: Tables that tell of the loads themselves.
OF_LOADS = {"loads", "rejects", "metrics", "flag_history"}


def moment(day: int, hour: float = 0, second: float = 0) -> str:
    """An instant, days after the first."""
    return (BEGIN + timedelta(days=day, hours=hour, seconds=second)).isoformat().replace("+00:00", "Z")


def instant(day: int, hour: int = 0) -> int:
    """The same in epoch microseconds."""
    return int(BEGIN.timestamp()) * 1_000_000 + day * DAY_US + hour * HOUR_US


def load(folder: Path, events: Iterable[Event], keep_days: int | None = None, name: str = "w") -> RunReport:
    """Load `events`, as a file of their own, into the warehouse `name` of `folder`."""
    log = folder / f"log-{time.time_ns()}.jsonl"
    log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return ingest([str(log)], folder / name, Options(keep_days=keep_days))


def parts_of(warehouse: Path, relation: str) -> list[Part]:
    return [part for part in read_state(warehouse).parts if part.relation == relation and part.rows]


def shown(warehouse: Path, filters: Filters = EVERYTHING, leave: Iterable[str] = ()) -> dict[str, list[dict[str, Any]]]:
    """Every result table under `filters`."""
    snapshot = open_snapshot(warehouse)
    try:
        names = set(tables.TABLES) - {"attempts", "postbacks"} - OF_LOADS - set(leave)
        return {name: tables.rows(snapshot, name, filters) for name in sorted(names)}
    finally:
        snapshot.close()


def query(warehouse: Path, sql: str) -> list[tuple[Any, ...]]:
    snapshot = open_snapshot(warehouse)
    try:
        return snapshot.query(sql)
    finally:
        snapshot.close()


# Merging


def test_parts_of_about_one_size_are_merged_when_there_are_eight() -> None:
    def held(*rows: int) -> list[Part]:
        return [Part("attempts", f"{number}", count, 0, 0) for number, count in enumerate(rows)]

    def due(*rows: int) -> list[int]:
        return sorted(part.rows for part in compaction._due(held(*rows)))

    assert due(*[1] * 7) == []
    assert due(*[1] * 8) == [1] * 8
    assert due(*[1] * 8, 500, 70_000) == [1] * 8
    assert due(*[1] * 8, *[8] * 7) == [1] * 8 + [8] * 7, "the merged one is the eighth of the next size"
    assert due(*[compaction.LARGE_ROWS] * 20) == []


@pytest.fixture(scope="module")
def by_lines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A warehouse after 36 loads of an event each over three days, and what each load left and wrote."""
    folder = tmp_path_factory.mktemp("lines")
    warehouse = folder / "w"
    warehouse.mkdir()
    (warehouse / "retrylens.toml").write_text("snapshot_grace_s = 0\n")
    work = []
    seen: set[str] = set()
    for number in range(36):
        day, hour = divmod(number, 12)
        event = attempt(moment(day, hour, number), f"a{number}", partner="pq"[number % 2])
        lines = [event, {"event": "attempt", "ts": moment(day)}] if number % 3 else [event]
        load(folder, lines)
        parts = read_state(warehouse).parts
        new = [part for part in parts if part.path not in seen]
        seen.update(part.path for part in new)
        work.append({"held": Counter(part.relation for part in parts), "new": new})
    return warehouse, work


def test_many_small_loads_leave_few_files(by_lines: tuple[Path, list[dict[str, Any]]]) -> None:
    warehouse, work = by_lines
    assert max(max(step["held"].values()) for step in work) < 40
    on_disk = Counter(path.parent for path in warehouse.rglob("*.parquet"))
    assert max(on_disk[folder] for folder in on_disk if folder.name != "empty") < 60, "the sweep takes what went"


def test_a_late_load_writes_no_more_than_an_early_one(by_lines: tuple[Path, list[dict[str, Any]]]) -> None:
    _, work = by_lines
    files = [len(step["new"]) for step in work]
    assert sum(files[25:]) <= 1.3 * sum(files[1:12])
    facts = sum(part.rows for step in work for part in step["new"] if part.relation == "attempts")
    assert facts <= 3 * len(work), "each fact is written about once a size"


def test_the_tables_do_not_change_by_merging(
    by_lines: tuple[Path, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, _ = by_lines
    assert verify(warehouse) == []
    events = [attempt(moment(*divmod(n, 12), n), f"a{n}", partner="pq"[n % 2]) for n in range(36)]
    monkeypatch.setattr("ingest.run.compact", lambda *_: None)
    for number in range(0, 36, 12):
        load(tmp_path, events[number : number + 12])
    assert shown(warehouse) == shown(tmp_path / "w")
    rejects = query(warehouse, "select load_id, line, reason from rejects order by all")
    assert [row[0] for row in rejects] == [n + 1 for n in range(36) if n % 3]


def test_merged_facts_lie_by_hour_partner_and_time(by_lines: tuple[Path, list[dict[str, Any]]]) -> None:
    warehouse, _ = by_lines
    ended = [part for part in parts_of(warehouse, "attempts") if part.lo_us < instant(2)]
    assert [part.lo_us // DAY_US for part in ended] == [instant(0) // DAY_US, instant(1) // DAY_US]
    for part in ended:
        file = str(warehouse / part.path)
        stands = duckdb.execute(f"select auction_id from '{file}'").fetchall()
        assert stands == duckdb.execute(f"select auction_id from '{file}' order by {order_of('attempts')}").fetchall()
        assert len(stands) == part.rows == 12


def test_an_open_snapshot_goes_on_reading_what_was_merged(tmp_path: Path) -> None:
    for number in range(7):
        load(tmp_path, [attempt(moment(0, 1, number), f"a{number}")])
    reader = open_snapshot(tmp_path / "w")
    old = parts_of(tmp_path / "w", "attempts")
    past = time.time() - 3600
    for part in old:
        os.utime(tmp_path / "w" / part.path, (past, past))
    for number in range(7, 12):
        load(tmp_path, [attempt(moment(0, 1, number), f"a{number}")])
    assert not {part.path for part in old} & {part.path for part in parts_of(tmp_path / "w", "attempts")}
    assert reader.query("select count(*) from attempts") == [(7,)], "the grace time begins when a file is let go"
    reader.close()
    (tmp_path / "w" / "retrylens.toml").write_text("snapshot_grace_s = 0\n")
    time.sleep(0.01)
    load(tmp_path, [attempt(moment(0, 1, 13), "a13")])
    load(tmp_path, [attempt(moment(0, 1, 14), "a14")])
    assert not any((tmp_path / "w" / part.path).exists() for part in old)


class Store:
    """Parts of a relation with the columns hour_us and n, written through `Parts`."""

    def __init__(self, root: Path) -> None:
        self.con = duckdb.connect()
        self.parts = Parts(self.con, root, "g", [])
        self.number = 0

    def write(self, hours: set[int], rows: int) -> list[Part]:
        """A load that puts `rows` into each of `hours`; gives the new parts."""
        self.number += 1
        self.parts.generation = f"g{self.number}"
        before = set(self.parts.of("calls"))
        listed = ", ".join(str(hour) for hour in sorted(hours))
        fresh = f"select unnest([{listed}]::bigint[]) as hour_us, unnest([{listed}]::bigint[]) as call_us, partner"
        self.parts.rewrite("calls", hours, f"{fresh} from range({rows}) as r (partner)", f"hour_us not in ({listed})")
        return [part for part in self.parts.of("calls") if part not in before]


def test_a_large_day_is_rewritten_by_hours(tmp_path: Path) -> None:
    store = Store(tmp_path)
    day = instant(0)
    hours = [day + number * HOUR_US for number in range(6)]
    (whole,) = store.write(set(hours), DAY_ROWS // 4)
    assert whole.span_us == DAY_US
    split = store.write({hours[2]}, 10)
    assert [(part.unit_us, part.span_us) for part in split] == [(hour, HOUR_US) for hour in hours]
    (again,) = store.write({hours[2]}, 20)
    assert (again.unit_us, again.rows) == (hours[2], 20)
    assert sum(part.rows for part in store.parts.of("calls")) == 5 * (DAY_ROWS // 4) + 20


def test_hours_of_a_day_that_no_notice_can_touch_become_a_day(tmp_path: Path) -> None:
    store = Store(tmp_path)
    hours = [instant(0, number) for number in range(6)]
    store.write(set(hours), DAY_ROWS // 4)
    store.write({hours[2]}, 10)
    settled = 8
    compaction.compact(store.parts, instant(0), instant(8), settled)
    assert len(store.parts.of("calls")) == 6
    compaction.compact(store.parts, instant(8), instant(9), settled)
    (part,) = store.parts.of("calls")
    assert (part.unit_us, part.span_us, part.rows) == (instant(0), DAY_US, 5 * (DAY_ROWS // 4) + 10)
    stands = duckdb.execute(f"select hour_us from '{tmp_path / part.path}'").fetchall()
    assert stands == sorted(stands)


# Keeping some days


@pytest.fixture(scope="module")
def six_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Warehouses of a few minutes of each of six days: `all`, and `kept` of two days before the newest."""
    folder = tmp_path_factory.mktemp("six")
    simulate(folder / "logs", 3, 5, 2.0, days=6)
    (folder / "logs" / "truth.json").unlink()
    ingest([str(folder / "logs")], folder / "all")
    ingest([str(folder / "logs")], folder / "kept", Options(keep_days=2))
    return folder


def horizon_of(warehouse: Path) -> int:
    return read_state(warehouse).facts_from_us


def test_facts_and_models_of_events_go_with_age_and_roll_ups_stay(six_days: Path) -> None:
    assert horizon_of(six_days / "kept") == instant(3)
    for relation in ("calls", "retries", "deliveries", "auction_stages", "postback_results", "chain_steps", "orders"):
        assert min(part.unit_us for part in parts_of(six_days / "kept", relation)) >= instant(3), relation
    for relation in FACTS[:3]:
        days = {part.lo_us // DAY_US for part in parts_of(six_days / "kept", relation) if part.lo_us >= instant(3)}
        assert days == {instant(3) // DAY_US, instant(4) // DAY_US, instant(5) // DAY_US}
    for relation in ("hour_attempts", "minute_calls", "hour_latency", "hour_nodes", "expected_pieces", "throttles"):
        held = [sum(p.rows for p in parts_of(six_days / name, relation)) for name in ("all", "kept")]
        assert held[0] == held[1] > 0, relation
    assert verify(six_days / "kept") == []


@pytest.mark.parametrize(
    ("frm", "to"), [(None, None), (None, instant(3)), (instant(1, 10), instant(2, 11)), (instant(2), instant(4))]
)
def test_ranges_of_whole_hours_answer_as_before(six_days: Path, frm: int | None, to: int | None) -> None:
    filters = Filters(frm, to)
    whole, kept = (shown(six_days / name, filters, OF_EVENTS) for name in ("all", "kept"))
    for name in ("funnel", "losses"):  # the last stage of the auction funnel is joined from single clicks and orders
        for told in (whole, kept):
            told[name] = [row for row in told[name] if (row["funnel"], row["stage"]) != ("auction", "converted")]
    assert whole == kept


def test_days_that_are_kept_answer_everything(six_days: Path) -> None:
    whole, kept = (shown(six_days / name, Filters(instant(4), None)) for name in ("all", "kept"))
    assert whole == kept


def test_a_rebuild_keeps_what_lies_before_the_horizon(six_days: Path, tmp_path: Path) -> None:
    shutil.copytree(six_days / "kept", tmp_path / "w")
    rebuild(tmp_path / "w")
    assert horizon_of(tmp_path / "w") == instant(3)
    assert verify(tmp_path / "w") == []
    assert shown(six_days / "kept") == shown(tmp_path / "w")


def test_a_line_from_before_the_days_kept_is_a_reject(tmp_path: Path) -> None:
    load(tmp_path, [attempt(moment(day, 10), f"a{day}") for day in range(5)], keep_days=2)
    late = [
        attempt(moment(1, 10, 5), "late", latency_ms="soon"),
        attempt(moment(1, 23, 3599.999999), "later"),
        attempt(moment(2), "in time"),
    ]
    report = load(tmp_path, late).files[0]
    assert (report.lines, report.facts, report.rejects) == (3, 1, 2)
    assert report.mended == {}
    rejects = query(tmp_path / "w", "select line, reason, raw from rejects order by line")
    assert [row[:2] for row in rejects] == [
        (1, "older than the days kept, which begin on 2026-09-16"),
        (2, "older than the days kept, which begin on 2026-09-16"),
    ]
    told = json.loads(rejects[0][2])
    assert (told["event"], told["auction_id"], told["http_status"]) == ("attempt", "late", 204)
    assert query(tmp_path / "w", f"select sum(attempts) from hour_attempts where hour_us < {instant(2)}") == [(2,)]
    assert query(tmp_path / "w", "select sum(attempts) from hour_attempts") == [(6,)]
    assert verify(tmp_path / "w") == []


def test_a_file_of_old_lines_alone_is_refused(tmp_path: Path) -> None:
    load(tmp_path, [attempt(moment(day, 10), f"a{day}") for day in range(5)], keep_days=2)
    report = load(tmp_path, [attempt(moment(1, 10), "late")]).files[0]
    assert report.status == "refused"
    assert "older than the days kept" in str(report.reason)


def test_the_horizon_stands_without_the_option_and_never_goes_back(tmp_path: Path) -> None:
    load(tmp_path, [attempt(moment(day, 10), f"a{day}") for day in range(5)], keep_days=2)
    load(tmp_path, [attempt(moment(5, 10), "a5")])
    assert horizon_of(tmp_path / "w") == instant(2)
    load(tmp_path, [attempt(moment(5, 11), "a6")], keep_days=4)
    assert horizon_of(tmp_path / "w") == instant(2)
    (tmp_path / "w" / "retrylens.toml").write_text("keep_days = 1\n")
    load(tmp_path, [attempt(moment(5, 12), "a7")])
    assert horizon_of(tmp_path / "w") == instant(4)
    assert query(tmp_path / "w", "select min(ts) from attempts") == [(datetime(2026, 9, 18, 10),)]
    assert query(tmp_path / "w", "select sum(attempts) from hour_attempts") == [(8,)]


def test_keep_days_is_a_number_of_days(tmp_path: Path) -> None:
    (tmp_path / "retrylens.toml").write_text("keep_days = -1\n")
    with pytest.raises(InputError, match=r"keep_days is -1; .*0 to keep all"):
        load_settings(tmp_path, {})
    assert Settings().keep_days == 0


def test_an_event_from_the_far_future_drops_nothing(tmp_path: Path) -> None:
    load(tmp_path, [attempt(moment(day, 10), f"a{day}") for day in range(3)])
    load(tmp_path, [attempt("2099-01-01T00:00:00Z", "wrong clock")], keep_days=2)
    now = datetime.now(UTC)
    if now < BEGIN:
        pytest.skip("the clock is before the events of this test")
    assert horizon_of(tmp_path / "w") == instant(0)
    assert query(tmp_path / "w", "select count(*) from attempts") == [(4,)]


def notice(kind: str, ts: str, auction: str, **values: Any) -> Event:
    return {"event": kind, "ts": ts, "auction_id": auction, "partner": "p"} | values


BID: dict[str, Any] = {"http_status": 200, "bids": 1, "price": "1.0"}


def test_a_late_notice_of_a_call_that_went_is_an_orphan(tmp_path: Path) -> None:
    calls = [attempt(moment(day, 10), f"a{day}", **BID) for day in range(5)]
    load(tmp_path, [*calls, notice("win", moment(0, 10, 2), "a0")], keep_days=1)
    before = shown(tmp_path / "w", Filters(None, instant(3)), OF_EVENTS)
    load(tmp_path, [notice("win", moment(4, 11), "a1"), notice("billing", moment(4, 11), "a0")])
    assert (
        shown(tmp_path / "w", Filters(None, instant(3)), OF_EVENTS - {"funnel"}).items()
        >= {name: rows for name, rows in before.items() if name not in ("funnel", "losses")}.items()
    )
    assert query(tmp_path / "w", "select kind, orphan from deliveries order by kind") == [("billing", 1), ("win", 1)]
    assert query(tmp_path / "w", "select sum(calls) from hour_calls") == [(5,)]
    assert verify(tmp_path / "w") == []


def test_a_call_that_reaches_over_the_horizon_stays_one_call(tmp_path: Path) -> None:
    failed = attempt(moment(2, 23, 3599.9), "over", http_status=503, attempt=1)
    retried = attempt(moment(3, 0, 0.05), "over", attempt=2, **BID)
    load(tmp_path, [attempt(moment(5, 10), "new"), failed, retried, attempt(moment(0, 10), "old")], keep_days=2)
    facts = query(tmp_path / "w", "select auction_id, attempt from attempts order by ts")
    assert facts == [("over", 1), ("over", 2), ("new", None)]

    def calls() -> list[tuple[Any, ...]]:
        return query(
            tmp_path / "w", "select hour_us, sum(calls), sum(recovered) from hour_calls group by all order by 1"
        )

    before = calls()
    assert before == [(instant(0, 10), 1, 0), (instant(2, 23), 1, 1), (instant(5, 10), 1, 0)]
    load(tmp_path, [notice("win", moment(3, 0, 2), "over", price="1.0")])
    assert calls() == before
    assert query(tmp_path / "w", "select orphan, call_us is not null from deliveries") == [(0, True)]
    rebuild(tmp_path / "w")
    assert calls() == before
    assert verify(tmp_path / "w") == []
    load(tmp_path, [attempt(moment(9, 10), "newer")], keep_days=2)
    assert query(tmp_path / "w", "select auction_id from attempts") == [("newer",)]
    assert [row[1:] for row in calls()] == [(1, 0), (1, 1), (1, 0), (1, 0)]


def test_an_order_that_reaches_over_the_horizon_stays_one_order(tmp_path: Path) -> None:
    first = postback(moment(2, 23), "k", "o-1", http_status=500)
    load(tmp_path, [first, postback(moment(3, 1), "k", "o-1"), postback(moment(5, 1), "k", "o-2")], keep_days=2)
    load(tmp_path, [postback(moment(3, 2), "k", "o-1", duplicate=True)])
    rebuild(tmp_path / "w")
    orders = query(tmp_path / "w", "select hour_us, sum(calls), sum(recovered) from hour_calls group by all order by 1")
    assert orders == [(instant(2, 23), 1, 1), (instant(5, 1), 1, 0)]
    assert verify(tmp_path / "w") == []


def test_a_reference_breaker_remembers_what_its_window_held(tmp_path: Path) -> None:
    """Ten failures in the last seconds of a day and ten in the first of the next open it, late lines or not."""
    failed = [attempt(moment(2, 23, 3595 + n / 10), f"b{n}", http_status=500) for n in range(10)]
    failed += [attempt(moment(3, 0, n / 10), f"c{n}", http_status=500) for n in range(10)]
    newer = attempt(moment(5, 1), "new")
    load(tmp_path, [attempt(moment(0), "old"), *failed, newer], keep_days=2)
    load(tmp_path, [attempt(moment(0), "old"), *failed, newer, attempt(moment(3, 0, 1800), "late")], name="at once")
    load(tmp_path, [attempt(moment(3, 0, 1800), "late")])
    expected = "select * from expected_pieces order by partner, hour_us, place"
    assert any(row[3] == "open" for row in query(tmp_path / "w", expected))
    assert query(tmp_path / "w", expected) == query(tmp_path / "at once", expected)
    rebuild(tmp_path / "w")
    assert query(tmp_path / "w", expected) == query(tmp_path / "at once", expected)


def test_breakers_remember_every_state(tmp_path: Path) -> None:
    opened = {"event": "breaker", "ts": moment(0, 11), "partner": "p", "state_from": "closed", "state_to": "open"}
    load(tmp_path, [attempt(moment(0, 10), "a"), opened, attempt(moment(5, 10), "b")], keep_days=2)
    load(tmp_path, [attempt(moment(5, 11), "c")])
    rebuild(tmp_path / "w")
    states = query(tmp_path / "w", "select us, state from breaker_states order by us")
    assert states == [(instant(0, 10), "closed"), (instant(0, 11), "open")]


# Layouts


#: Columns that came with the third and fourth layouts.
CAME_LATE = {
    "attempts": ("attempt_count", "last_only"),
    "minute_calls": ("hidden", "uncounted", "undecided"),
    "hour_calls": ("hidden", "uncounted", "undecided"),
    "minute_postbacks": ("first_us",),
    "hour_postbacks": ("first_us",),
    "retries": ("infeasible", "late", "left_ms"),
}
#: What a row of `breakers` counts.
COUNTS = ("attempts", "failures", "blocked")
#: Relations that came with the fourth and fifth.
LATER = (
    "auction_clicks", "order_clicks", "faulty_orders", "converted", "minute_converted", "hour_converted",
    "breaker_pieces", "window_pieces", "minute_waits", "hour_waits", "minute_wasted", "hour_wasted",
    "minute_budgets", "hour_budgets",
)  # fmt: skip


def made_old(warehouse: Path, layout: int) -> None:
    """Make the snapshot one of the first layouts; the first had no state relations, flag history, and sums of files."""
    path = current_path(warehouse)
    assert path is not None
    with duckdb.connect(str(path)) as con:
        con.execute("update meta set value = ? where key = 'schema_version'", [str(layout)])
        known_plainly(con)
        con.execute("alter table known drop column scheme; alter table known drop column chain")
        con.execute("delete from files where relation in (select unnest(?))", [list(LATER)])
        files = con.execute("select relation, path from files where rows > 0").fetchall()
    for relation, name in files:
        if relation in CAME_LATE:
            file, copy = warehouse / name, warehouse / "copy.parquet"
            duckdb.execute(f"copy (select * exclude ({', '.join(CAME_LATE[relation])}) from '{file}') to '{copy}'")
            copy.replace(file)
            with duckdb.connect(str(path)) as con:
                con.execute(
                    "update files set bytes = ?, digest = ? where path = ?",
                    [file.stat().st_size, file_digest(file), name],
                )
    if layout == 1:
        made_first(path)
    name = f"{path.name.partition('-')[0]}-abc123.duckdb"
    path.rename(path.with_name(name))
    (warehouse / "CURRENT").write_text(name + "\n")


def known_plainly(con: duckdb.DuckDBPyConnection) -> None:
    """Know each content by one hash all along, as the first two layouts did, and not by the state of its file."""
    for rowid, names in con.execute("select rowid, names from known").fetchall():
        (name,) = json.loads(names)
        trace = Trace(plain=True)
        trace.feed(Path(name).read_bytes())
        whole, marks = trace.digest_of(PLAIN), trace.marks_of(PLAIN)
        con.execute(
            "update known set digest = ?, resume_digest = ?, chunk_marks = ?, names = ? where rowid = ?",
            [whole, whole, marks, json.dumps({name: None}), rowid],
        )


def made_first(path: Path) -> None:
    with duckdb.connect(str(path)) as con:
        con.execute("delete from meta where key in ('facts_from_us', 'fact_rows', 'dropped_rows')")
        con.execute("drop table flag_history")
        con.execute(
            "delete from files where relation in ('throttles', 'wasted_requests', 'expected_pieces', 'repeats',"
            " 'placement_tails', 'breaker_states', 'replays', 'key_reuses', 'chain_steps', 'chain_ends',"
            " 'minute_audit', 'hour_audit', 'minute_chains', 'hour_chains', 'minute_ends', 'hour_ends')"
        )
        con.execute("alter table files drop column bytes; alter table files drop column digest")


@pytest.mark.parametrize(("layout", "name"), [(1, "all"), (2, "all"), (2, "kept")])
def test_a_snapshot_of_an_older_layout_asks_for_rebuild_and_gets_everything(
    six_days: Path, tmp_path: Path, layout: int, name: str
) -> None:
    warehouse = tmp_path / "w"
    shutil.copytree(six_days / name, warehouse)
    made_old(warehouse, layout)
    with pytest.raises(InputError, match="retrylens rebuild"):
        load(tmp_path, [attempt(moment(6), "a")])
    with pytest.raises(Exception, match="retrylens rebuild"):
        open_snapshot(warehouse)
    assert [fault for fault in verify(warehouse) if "retrylens rebuild" not in fault] == []
    rebuild(warehouse)
    assert verify(warehouse) == []
    now, before = shown(warehouse), shown(six_days / name)
    if name == "kept":  # the third layout knew neither the first postback of an hour nor what a state's minutes held
        for told in (now, before):
            told["flags"] = [{k: v for k, v in row.items() if not k.endswith("per_day")} for row in told["flags"]]
        counted = [[tuple(row[k] for k in COUNTS) for row in told.pop("breakers")] for told in (now, before)]
        assert len(counted[0]) == len(counted[1])
        assert all(one <= other for pair in zip(*counted, strict=True) for one, other in zip(*pair, strict=True))
        sums = [sum(map(sum, rows)) for rows in counted]
        assert sums[1] * 0.8 < sums[0] < sums[1]
        # and 429s of days that are not kept are counted since the fifth layout only
        found, known = (
            {tuple(map(row.pop, ("stream", "key", "endpoint"))): row for row in told.pop("retry_after")}
            for told in (now, before)
        )
        assert all(row[part] <= known[key][part] for key, row in found.items() for part in row)
        assert 0 < sum(row["limited"] for row in found.values()) < sum(row["limited"] for row in known.values())
        for told in (now, before):
            told["audit"] = [row for row in told["audit"] if row["rule"] != "R10"]
    assert now == before
    assert query(warehouse, "select count(*) from loads") == query(six_days / name, "select count(*) from loads")
    assert read_state(warehouse).version == SCHEMA_VERSION
    assert query(warehouse, "select distinct attempt_count, last_only from attempts") == [(None, None)]
    again = ingest([str(six_days / "logs")], warehouse).files
    assert {report.status for report in again} == {"unchanged"}
    load(tmp_path, [attempt(moment(6), "a")])
    assert verify(warehouse) == []


def test_a_reader_is_told_what_is_gone(tmp_path: Path) -> None:
    load(tmp_path, [attempt(moment(day, 10), f"a{day}") for day in range(5)], keep_days=2)
    snapshot = open_snapshot(tmp_path / "w")
    since = horizon_of(tmp_path / "w")
    assert snapshot.gone_before(None) == snapshot.gone_before(since - 1) == since
    assert snapshot.gone_before(since) is None
    command = [sys.executable, "-m", "dashboard.cli", "show", "attempts", "--partner", "p", "--format", "json"]
    environ = os.environ | {"RETRYLENS_WAREHOUSE": str(tmp_path / "w")}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=ROOT, check=True)
    assert "single events before 2026-09-" in done.stderr
    assert len(json.loads(done.stdout)) < 5
    kept = subprocess.run(
        [*command, "--from", "2026-09-30"], capture_output=True, text=True, env=environ, cwd=ROOT, check=True
    )
    assert kept.stderr == ""


def test_what_the_kept_days_cannot_tell_is_unknown(six_days: Path) -> None:
    """Never a smaller number: what is judged by single events is told of ranges whose events are all there."""

    def told(name: str, table: str, frm: int | None) -> dict[Any, dict[str, Any]]:
        snapshot = open_snapshot(six_days / name)
        try:
            keys = {"signatures": ("key",), "backoff": ("stream", "key"), "funnel": ("funnel", "stage")}[table]
            return {tuple(row[k] for k in keys): row for row in tables.rows(snapshot, table, Filters(frm, None))}
        finally:
            snapshot.close()

    for frm in (None, instant(2)):
        signatures, whole = told("kept", "signatures", frm), told("all", "signatures", frm)
        assert {key: row["requests"] for key, row in signatures.items()} == {
            k: row["requests"] for k, row in whole.items()
        }
        unknown = {
            row[name] for row in signatures.values() for name in ("stale", "replayed", "skew_p50_s", "skew_p99_s")
        }
        assert unknown == {None}
        assert any(row["skew_p50_s"] is not None for row in whole.values())
        senders = told("kept", "backoff", frm).values()
        assert {(row["kind"], row["delays"], row["synchronised"]) for row in senders} == {("unclear", None, None)}
        assert told("kept", "funnel", frm)[("auction", "converted")]["count"] is None
        assert told("all", "funnel", frm)[("auction", "converted")]["count"] is not None
    for table in ("signatures", "backoff", "funnel"):
        assert told("kept", table, instant(3)) == told("all", table, instant(3))
    snapshot = open_snapshot(six_days / "kept")
    windows = tables.rows(snapshot, "windows", EVERYTHING)
    snapshot.close()
    assert min(row["window_start"] for row in windows) >= datetime(2026, 9, 17)


@pytest.mark.parametrize(("table", "frm"), [("calls", "10:00:30"), ("latency", "10:01:00")])
def test_a_range_that_cuts_a_roll_up_is_refused(six_days: Path, table: str, frm: str) -> None:
    command = [sys.executable, "-m", "dashboard.cli", "show", table, "--warehouse", str(six_days / "kept"), "--from"]
    for moment_, code in ((f"2026-09-15T{frm}Z", 2), ("2026-09-15T10:00:00Z", 0), (f"2026-09-18T{frm}Z", 0)):
        done = subprocess.run([*command, moment_], capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == code, done.stderr
        assert ("knows whole" in done.stderr) == bool(code)


def test_a_page_tells_what_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path, [attempt(moment(day, 10), f"a{day}") for day in range(5)], keep_days=2)
    monkeypatch.setenv("RETRYLENS_WAREHOUSE", str(tmp_path / "w"))
    test = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    test.query_params["range"] = "All"
    test.run()
    assert not test.exception
    assert any("are not kept" in caption.value for caption in test.main.caption)
