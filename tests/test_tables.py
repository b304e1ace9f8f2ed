"""Result tables: columns of the contract, statements that run anywhere, ranges cut without a seam, unknowns kept."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard import tables
from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot, open_snapshot
from dashboard.tables.ranges import HOUR, MINUTE, split
from dashboard.tables.spec import INNER_TABLES
from ingest.load import ingest
from ingest.simulate import simulate
from tests.loaded import at, attempt, load

CONTRACT = {
    "funnel": "funnel position stage count of_previous of_first",
    "losses": "funnel stage reason count",
    "outcomes": "partner outcome attempts",
    "no_bids": "partner reason name class no_bids",
    "calls": "stream partner calls calls_sent attempts_sent not_sent retries actual_success effective_success "
    "amplification retried recovered late_retries late_checked",
    "retries": "stream partner trigger retry_no retries successes bids success_rate success_low success_high",
    "fate": "stream partner fate calls",
    "flags": "stream partner trigger retries successes upper_bound verdict last_success retries_per_day "
    "ms_saved_per_day bids_at_risk revenue_at_risk",
    "breakers": "partner node kind state from to attempts failures blocked",
    "audit": "rule severity stream partner violations checked",
    "flag_history": "stream partner trigger verdict raised retries successes upper_bound cleared cleared_why "
    "cleared_retries cleared_successes lower_bound",
    "rate_limits": "stream partner endpoint requests limited rate",
    "windows": "key endpoint window_start window_s requests limited limit utilisation",
    "retry_after": "stream key endpoint limited with_retry_after early on_time late never pending wasted",
    "orders": "tenant event_type external_order_id requests state retries_to_accept seconds_to_accept conversion_ids "
    "duplicates faults",
    "order_faults": "fault tenant event_type external_order_id detail",
    "signatures": "key requests stale replayed skew_p50_s skew_p99_s",
    "backoff": "stream key kind base_ms cap_ms jitter delays synchronised",
    "latency": "partner attempts p50_ms p95_ms p99_ms error_bound",
    "notices": "kind partner currency unique deliveries duplicates orphans revenue without_price",
    "attempts": "ts auction_id partner attempt request_id tmax_ms budget_ms timeout_ms elapsed_ms latency_ms "
    "http_status error_type nbr bids price currency reject_reason breaker not_sent retry_after_s backoff_ms source "
    "placement region node outcome",
    "postbacks": "ts tenant key_id endpoint method event_type external_order_id http_status accepted error_code "
    "retry_after_s limit window_s conversion_id duplicate idempotency_key idempotent_replay body_hash signature_hash "
    "x_timestamp latency_ms amount currency click_id client_hash",
    "loads": "file format lines facts rejects blank repeated mended started finished status reason",
    "rejects": "file line offset reason raw",
    "metrics": "name title unit numerator denominator definition owner",
}
LISTS = ("attempts", "postbacks", "loads", "rejects", "metrics", "flag_history")
COUNTED = [name for name in tables.TABLES if name not in LISTS]
BASE = 1_789_383_600_000_000


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """An hour and a bit of a small exchange with every character."""
    folder = tmp_path_factory.mktemp("simulated")
    simulate(folder / "logs", 3, 70, 0.5, "default")
    ingest([str(folder / "logs")], folder / "warehouse")
    return open_snapshot(folder / "warehouse")


def chosen(name: str, filters: Filters) -> Filters:
    """`filters` with what the tables of single rows need beside."""
    if name == "attempts" and not filters.partners:
        return Filters(filters.frm_us, filters.to_us, ("northbid",))
    return Filters(filters.frm_us, filters.to_us, filters.partners, key="key-calm") if name == "postbacks" else filters


def spans(snapshot: Snapshot) -> list[Filters]:
    first = snapshot.span("exchange").first_us
    assert first is not None
    return [
        Filters(),
        Filters(first + 61_234_567, first + 4_000_000_001),
        Filters(first + 1_234_567, first + 3_900_000_000, ("northbid", "oddlot", "key-calm")),
        Filters(first + 7, first + 400_000),
    ]


@pytest.mark.parametrize("name", sorted(CONTRACT))
def test_columns_are_those_of_the_contract(simulated: Snapshot, name: str) -> None:
    result = tables.fetch(simulated, name, chosen(name, Filters()))
    assert list(result.columns) == CONTRACT[name].split()
    assert result.values or name == "rejects"


def test_contract_and_tables_agree() -> None:
    assert set(tables.TABLES) == set(CONTRACT)
    assert all(table.about for table in (*tables.TABLES.values(), *INNER_TABLES.values()))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*sorted(CONTRACT), *INNER_TABLES])
def test_the_statement_gives_the_same_rows_in_any_shell(simulated: Snapshot, name: str) -> None:
    path = simulated.warehouse / "snapshots" / f"{simulated.id}.duckdb"
    with duckdb.connect(str(path), read_only=True) as shell:
        for filters in spans(simulated):
            asked = chosen(name, filters)
            shown = shell.execute(tables.sql(simulated, name, asked)).fetchall()
            if step := tables.get_table(name).step:
                columns = [column[0] for column in shell.description or ()]
                shown = list(step.rows([dict(zip(columns, row, strict=True)) for row in shown]))
            assert shown == tables.fetch(simulated, name, asked).values
            if tables.get_table(name).has_series:
                for bucket in ("minute", "hour", "day"):
                    text = tables.sql(simulated, name, asked, bucket)
                    assert shell.execute(text).fetchall() == tables.fetch(simulated, name, asked, bucket).values


SUMS = {
    "outcomes": (("partner", "outcome"), "attempts"),
    "no_bids": (("partner", "reason"), "no_bids"),
    "calls": (("stream", "partner"), "attempts_sent"),
    "retries": (("stream", "partner", "trigger", "retry_no"), "successes"),
    "fate": (("stream", "partner", "fate"), "calls"),
    "rate_limits": (("stream", "partner", "endpoint"), "requests"),
    "notices": (("kind", "partner", "currency"), "deliveries"),
    "losses": (("funnel", "stage", "reason"), "count"),
}


def summed(rows: list[dict[str, Any]], keys: tuple[str, ...], figure: str) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        found[tuple(row[key] for key in keys)] += row[figure]
    return found


@pytest.mark.parametrize("name", sorted(SUMS))
@pytest.mark.parametrize("bucket", ["minute", "hour", "day"])
def test_a_series_adds_up_to_its_table(simulated: Snapshot, name: str, bucket: str) -> None:
    keys, figure = SUMS[name]
    for filters in spans(simulated):
        whole = [row for row in tables.rows(simulated, name, filters) if row.get("funnel", "call") == "call"]
        parts = tables.series(simulated, name, filters, bucket)
        assert summed(parts, keys, figure) == summed(whole, keys, figure)
        assert all(epoch_seconds(row) % {"minute": 60, "hour": 3600, "day": 86400}[bucket] == 0 for row in parts)


def epoch_seconds(row: dict[str, Any]) -> int:
    moment = row["at"]
    assert moment.microsecond == 0
    return moment.hour * 3600 + moment.minute * 60 + moment.second


@pytest.mark.parametrize("name", sorted(set(SUMS) - {"losses"}))
def test_neighbouring_ranges_add_up(simulated: Snapshot, name: str) -> None:
    keys, figure = SUMS[name]
    first = simulated.span("all").first_us
    assert first is not None
    for cut in (first + 1, first + 123_456_789, first + HOUR - first % HOUR, first + 3_700_000_001):
        before = summed(tables.rows(simulated, name, Filters(None, cut)), keys, figure)
        after = summed(tables.rows(simulated, name, Filters(cut, None)), keys, figure)
        whole = summed(tables.rows(simulated, name), keys, figure)
        assert before + after == +whole


moments = st.none() | st.integers(-3, 3).flatmap(
    lambda hours: st.sampled_from([0, 1, MINUTE - 1, MINUTE, MINUTE + 1, HOUR - MINUTE, HOUR - 1]).map(
        lambda rest: BASE + hours * HOUR + rest
    )
)


@given(moments, moments, st.sampled_from([HOUR, MINUTE]))
def test_a_range_is_cut_without_gap_or_overlap(lo: int | None, hi: int | None, coarsest: int) -> None:
    cut = split((lo, hi), coarsest)
    pieces = sorted(cut.hours + cut.minutes + cut.rest, key=lambda piece: -1 if piece[0] is None else piece[0])
    if lo is not None and hi is not None and lo >= hi:
        assert pieces == []
        return
    assert (pieces[0][0], pieces[-1][1]) == (lo, hi)
    assert all(one[1] == other[0] for one, other in pairwise(pieces))
    assert all(edge is None or edge % HOUR == 0 for piece in cut.hours for edge in piece)
    assert all(edge is None or edge % MINUTE == 0 for piece in cut.minutes for edge in piece)
    assert all(piece[0] // MINUTE == (piece[1] - 1) // MINUTE for piece in cut.rest)  # type: ignore[operator]
    assert coarsest == HOUR or cut.hours == ()


def test_rollups_over_partners_are_left_out_when_partners_are_chosen(simulated: Snapshot) -> None:
    rows = tables.rows(simulated, "flags", Filters(partners=("oddlot",)))
    assert rows
    assert {row["partner"] for row in rows} == {"oddlot"}


def test_arrow_tables_hold_the_same_rows(simulated: Snapshot) -> None:
    assert tables.run(simulated, "calls").to_pylist() == tables.rows(simulated, "calls")


def test_a_moved_warehouse_still_opens(tmp_path: Path) -> None:
    here = load(tmp_path, [attempt(at(0), "A")])
    there = tmp_path / "it's elsewhere"
    shutil.move(here, there)
    assert tables.rows(open_snapshot(there), "outcomes") == [{"partner": "p", "outcome": "no_bid", "attempts": 1}]


def test_no_warehouse_and_no_snapshot_are_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere: no warehouse here"):
        open_snapshot(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"nothing is published in this warehouse yet"):
        open_snapshot(tmp_path)


def test_a_snapshot_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    warehouse = load(tmp_path, [attempt(at(0), "A")])
    (snapshot,) = (warehouse / "snapshots").glob("*.duckdb")
    with duckdb.connect(str(snapshot)) as shell:
        shell.execute("update meta set value = '99' where key = 'schema_version'")
    with pytest.raises(UserError, match=r"newer RetryLens .*upgrade") as raised:
        open_snapshot(warehouse)
    assert raised.value.exit_code == 2


def test_a_damaged_pointer_is_one_line(tmp_path: Path) -> None:
    warehouse = load(tmp_path, [attempt(at(0), "A")])
    (warehouse / "CURRENT").write_text("gone.duckdb\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"the snapshot gone cannot be read") as raised:
        open_snapshot(warehouse)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "filters", "message"),
    [
        ("attempts", Filters(), "choose rows with --partner NAME or --auction ID"),
        ("postbacks", Filters(partners=("k",)), "choose rows with --key ID or --order ID"),
        ("calls", Filters(auction="A"), "--auction is not for the table calls"),
        ("calls", Filters(limit=3), "--limit is not for the table calls"),
        ("nope", Filters(), "choose one of attempts, audit, backoff, breakers, calls"),
    ],
)
def test_filters_that_do_not_fit_are_refused(simulated: Snapshot, name: str, filters: Filters, message: str) -> None:
    with pytest.raises(UserError, match=message):
        tables.rows(simulated, name, filters)


def test_every_figure_stands_in_the_dictionary(simulated: Snapshot) -> None:
    known = {row["name"] for row in tables.rows(simulated, "metrics")}
    for name in set(tables.TABLES) - {"attempts", "postbacks", "rejects", "metrics"}:
        result = tables.fetch(simulated, name)
        keys = {"position", "retry_no"}
        figures = {
            f"{name}.{column}"
            for column, kind in zip(result.columns, result.types, strict=True)
            if kind != "VARCHAR" and column not in keys
        }
        assert figures <= known
    stages = {f"funnel.{row['stage']}" for row in tables.rows(simulated, "funnel")}
    assert stages <= known


def test_every_reason_and_outcome_names_owner_and_remedy(simulated: Snapshot) -> None:
    codes = simulated.query("select code, name, owner, remedy from nbr_codes")
    assert {str(row[0]) for row in codes if row[0] is not None} == {str(code) for code in range(18)}
    outcomes = simulated.query("select outcome, title, owner, remedy from outcomes")
    assert len(outcomes) == 16
    assert all(all(row[1:]) for row in codes + outcomes)
