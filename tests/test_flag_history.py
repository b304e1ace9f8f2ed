"""The history of the flags: raised once, kept by hysteresis, cleared for one of two reasons, each with its evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import open_snapshot
from ingest.engine import engine
from ingest.flag_history import COLUMNS, Count, Flag, Key, judge, wilson, window_counts
from ingest.load import ingest
from ingest.models.parts import Parts
from ingest.rebuild import rebuild
from ingest.settings import Settings, load_settings
from ingest.simulate import simulate
from ingest.snapshot.current import read_state
from tests.loaded import Event, postback

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)
T0 = datetime(2026, 9, 14, 10)


def stamp(at: datetime) -> str:
    return at.isoformat() + "Z"


def calls(name: str, at: datetime, lost: int, won: int = 0, partner: str = "p") -> list[Event]:
    """Calls a second apart, refused at first: `lost` are refused again, `won` are answered by the retry."""
    events = []
    for number in range(lost + won):
        original = at + timedelta(seconds=number)
        common = {"event": "attempt", "auction_id": f"{name}-{number}", "partner": partner}
        refused = {"error_type": "connection_refused"}
        retry = refused if number < lost else {"http_status": 204}
        events += [
            common | {"ts": stamp(original)} | refused,
            common | {"ts": stamp(original + timedelta(milliseconds=50))} | retry,
        ]
    return events


def quiet(at: datetime) -> list[Event]:
    """An attempt that needs no retry: the stream goes on."""
    return [{"event": "attempt", "ts": stamp(at), "auction_id": stamp(at), "partner": "calm", "http_status": 204}]


@dataclass
class Bench:
    """A warehouse and the history after each of its loads."""

    folder: Path
    flags: list[Flag] = field(default_factory=list)
    loads: int = 0

    def load(self, events: Iterable[Event]) -> list[Flag]:
        """The history after these lines too."""
        log = self.folder / f"log-{self.loads}.jsonl"
        log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        return self.take(log)

    def take(self, *logs: Path) -> list[Flag]:
        self.loads += 1
        ingest([str(log) for log in logs], self.folder / "warehouse")
        self.flags = read_state(self.folder / "warehouse").flag_history
        return self.flags

    def counts(self) -> dict[Key, Count]:
        """The retries that the flags are judged by."""
        warehouse = self.folder / "warehouse"
        state = read_state(warehouse)
        con = engine(self.folder)
        try:
            parts = Parts(con, warehouse, "test", state.parts)
            return window_counts(con, parts, state.streams, load_settings(warehouse))
        finally:
            con.close()

    def of(self, partner: str, trigger: str = "connect_error", stream: str = "exchange") -> list[Flag]:
        return [flag for flag in self.flags if flag.key == (stream, partner, trigger)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_flag_is_raised_by_the_load_that_first_finds_it(bench: Bench) -> None:
    assert bench.load(calls("a", T0, lost=51)) == [], "0 of 51: the bound is 0.0504"
    bench.load(calls("b", T0 + timedelta(hours=1), lost=1))
    (flag,) = bench.of("p")
    newest = T0 + timedelta(hours=1, milliseconds=50)
    assert flag[:8] == ("exchange", "p", "connect_error", "disable", newest, 2, 52, 0)
    assert flag.upper_bound == pytest.approx(0.0495, abs=5e-5)
    assert flag[9:] == (None,) * 6


def test_roll_ups_are_flagged_too(bench: Bench) -> None:
    bench.load(calls("a", T0, lost=30) + calls("b", T0, lost=30, partner="q"))
    assert [flag.key for flag in bench.flags] == [("exchange", "*", "*"), ("exchange", "*", "connect_error")]


def test_what_must_never_be_repeated_is_flagged_at_once_and_not_rolled_up(bench: Bench) -> None:
    no_bid = {"event": "attempt", "auction_id": "A", "partner": "p", "http_status": 204}
    bench.load([no_bid | {"ts": stamp(T0)}, no_bid | {"ts": stamp(T0 + timedelta(seconds=1))}])
    (flag,) = bench.flags
    assert (flag.key, flag.verdict, flag.retries) == (("exchange", "p", "no_bid"), "never", 1)


def test_the_postback_side_is_judged_by_its_own_newest_event(bench: Bench) -> None:
    refused = {"http_status": 400, "error_code": "BAD"}
    bench.load(
        [postback(stamp(T0 + timedelta(seconds=second)), order="O", **refused) for second in range(2)]
        + quiet(T0 + 20 * DAY)
    )
    (flag,) = bench.flags
    assert (flag.stream, flag.partner, flag.trigger, flag.verdict) == ("postback", "k", "client_error", "never")
    assert flag.raised == T0 + timedelta(seconds=1)


def test_between_the_bounds_a_flag_stays(bench: Bench) -> None:
    bench.load(calls("a", T0, lost=100))
    raised = bench.of("p")
    bench.load(calls("b", T0 + timedelta(hours=1), lost=0, won=8))
    assert 0.03 < wilson(Count(108, 8), 1.959963984540054)[0] < 0.05 < wilson(Count(108, 8), 1.6448536269514722)[1]
    assert bench.of("p") == raised, "no longer to be disabled, not yet proven better: as it was raised"


def test_recovery_clears_with_the_evidence_of_that_moment(bench: Bench) -> None:
    bench.load(calls("a", T0, lost=100))
    (raised,) = bench.of("p")
    bench.load(calls("b", T0 + timedelta(hours=1), lost=0, won=20))
    (flag,) = bench.of("p")
    assert flag[:9] == raised[:9]
    newest = T0 + timedelta(hours=1, seconds=19, milliseconds=50)
    assert flag[9:14] == (newest, 2, "recovered", 120, 20)
    assert flag.lower_bound == pytest.approx(0.1106, abs=5e-5)


def test_a_window_without_such_retries_clears(bench: Bench) -> None:
    bench.load(calls("a", T0, lost=60))
    last = T0 + timedelta(seconds=59)
    bench.load(quiet(last + 7 * DAY - timedelta(microseconds=1)))
    (flag,) = bench.of("p")
    assert flag.cleared is None, "the last call began just within the window"
    bench.load(quiet(last + 7 * DAY))
    (flag,) = bench.of("p")
    assert flag[9:] == (last + 7 * DAY, 3, "no_retries", 0, 0, None)


def test_a_never_flag_is_cleared_by_absence_alone(bench: Bench) -> None:
    answers = [{"http_status": 204}, {"http_status": 200, "bids": 1}]
    bench.load(
        {"event": "attempt", "ts": stamp(T0 + timedelta(seconds=second)), "auction_id": f"A{call}", "partner": "p"}
        | answers[second]
        for call in range(40)
        for second in range(2)
    )
    (flag,) = bench.of("p", "no_bid")
    assert (flag.verdict, flag.retries, flag.successes, flag.cleared) == ("never", 40, 40, None)
    bench.load(quiet(T0 + DAY))
    assert bench.of("p", "no_bid") == [flag]
    bench.load(quiet(T0 + 8 * DAY))
    assert bench.of("p", "no_bid")[0].cleared_why == "no_retries"


def test_raised_again_is_another_row(bench: Bench) -> None:
    bench.load(calls("a", T0, lost=60))
    bench.load(quiet(T0 + 8 * DAY))
    bench.load(calls("b", T0 + 9 * DAY, lost=70))
    first, second = bench.of("p")
    assert (first.retries, first.cleared_load, second.retries, second.raised_load) == (60, 2, 70, 3)
    assert second.cleared is None


def test_evidence_is_kept_as_it_was(bench: Bench) -> None:
    bench.load(calls("a", T0, lost=60))
    before = bench.of("p")
    bench.load(calls("b", T0 + timedelta(hours=1), lost=300))
    assert bench.of("p") == before
    assert bench.counts()[Key("exchange", "p", "connect_error")] == (360, 0)


def test_the_settings_are_those_in_force(bench: Bench) -> None:
    warehouse = bench.folder / "warehouse"
    warehouse.mkdir()
    (warehouse / "retrylens.toml").write_text("flag_days = 1\nflag_min_retries = 5\nflag_upper_bound = 0.5\n")
    bench.load(calls("a", T0, lost=6))
    assert [flag.retries for flag in bench.of("p")] == [6]
    bench.load(quiet(T0 + 2 * DAY))
    assert [flag.cleared_why for flag in bench.of("p")] == ["no_retries"]


def test_a_partner_named_as_the_roll_up_is_told_by_it_alone(bench: Bench) -> None:
    bench.load(calls("a", T0, lost=60, partner="*"))
    assert [(flag.key, flag.retries) for flag in bench.flags] == [
        (("exchange", "*", "*"), 60),
        (("exchange", "*", "connect_error"), 60),
    ]


def test_a_rebuild_keeps_the_history(bench: Bench) -> None:
    before = bench.load(calls("a", T0, lost=60))
    rebuild(bench.folder / "warehouse")
    assert read_state(bench.folder / "warehouse").flag_history == before != []


def test_a_row_is_what_the_snapshot_holds() -> None:
    assert Flag._fields == tuple(COLUMNS)


@pytest.mark.parametrize(
    ("successes", "retries", "bound", "verdict"),
    [
        (0, 51, 0.0504, None),
        (0, 52, 0.0495, "disable"),
        (1, 100, 0.0436, "disable"),
        (2, 400, 0.0150, "disable"),
        (30, 1000, 0.0402, "disable"),
        (10, 100, 0.1604, None),
        (0, 30, 0.0827, None),
    ],
)
def test_the_bound_decides(successes: int, retries: int, bound: float, verdict: str | None) -> None:
    found = judge(Key("exchange", "p", "timeout"), Count(retries, successes), Settings())
    assert found == (verdict, pytest.approx(bound, abs=5e-5))


def test_verdicts_are_those_of_the_flags_table_at_every_load(bench: Bench) -> None:
    simulate(bench.folder / "logs", 5, 3, 8.0, days=9)
    raised = set()
    logs = sorted((bench.folder / "logs").glob("*.jsonl"))
    for start in range(0, len(logs), 4):
        bench.take(*logs[start : start + 4])
        shown = tables.rows(open_snapshot(bench.folder / "warehouse"), "flags", Filters())
        counts = bench.counts()
        assert counts == {
            (row["stream"], row["partner"], row["trigger"]): (row["retries"], row["successes"]) for row in shown
        }
        judged = {key: judge(key, count, Settings()) for key, count in counts.items()}
        for row in shown:
            verdict, bound = judged[Key(row["stream"], row["partner"], row["trigger"])]
            assert (verdict, bound) == (
                row["verdict"] if row["verdict"] in ("never", "disable") else None,
                row["upper_bound"],
            )
            if verdict:
                raised.add(Key(row["stream"], row["partner"], row["trigger"]))
        standing = [flag.key for flag in bench.flags if flag.cleared is None]
        assert len(standing) == len(set(standing))
        assert {key for key, (verdict, _) in judged.items() if verdict} <= set(standing)
    assert raised == {flag.key for flag in bench.flags}
    assert len(raised) > 5
