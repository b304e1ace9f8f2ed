"""What result tables say about few given events: unknowns, verdicts, money, breaker time, names from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard import tables
from dashboard.filters import Filters, make_filters
from tests.loaded import at, attempt, opened, postback

pytestmark = pytest.mark.slow


def test_stages_without_evidence_have_no_count(tmp_path: Path) -> None:
    rows = tables.rows(opened(tmp_path, [attempt(at(0), "A")]), "funnel")
    counts = {(row["funnel"], row["stage"]): row["count"] for row in rows}
    assert [counts["call", stage] for stage in ("considered", "sent", "answered", "bid", "won")] == [1, 1, 1, 0, None]
    assert counts["auction", "auctions"] == 1
    assert counts["postback", "received"] is None


def test_bids_are_unknown_where_no_answer_tells(tmp_path: Path) -> None:
    events = [
        attempt(at(0), "A", http_status=503),
        attempt(at(1), "A", http_status=200),
        attempt(at(2), "B", "q", http_status=503),
        attempt(at(3), "B", "q", http_status=200),
    ]
    snapshot = opened(tmp_path, events)
    counts = {row["stage"]: row["count"] for row in tables.rows(snapshot, "funnel") if row["funnel"] == "call"}
    assert (counts["answered"], counts["bid"], counts["in_auction"]) == (2, None, None)
    assert {row["reason"] for row in tables.rows(snapshot, "losses")} == set()
    assert [row["bids"] for row in tables.rows(snapshot, "retries")] == [None, None]
    assert {row["bids_at_risk"] for row in tables.rows(snapshot, "flags")} == {None}


def test_one_blind_partner_hides_the_bids_of_its_rollups_only(tmp_path: Path) -> None:
    events = [
        attempt(at(0), "A", http_status=503),
        attempt(at(1), "A", http_status=200, bids=1),
        attempt(at(2), "B", "q", http_status=502),
        attempt(at(3), "B", "q", http_status=200),
    ]
    rows = tables.rows(opened(tmp_path, events), "flags")
    bids = {(row["partner"], row["trigger"]): row["bids_at_risk"] for row in rows}
    assert bids["p", "server_error"] == bids["p", "*"] == 1
    assert bids["q", "*"] is bids["*", "*"] is None


@pytest.mark.parametrize(
    ("retries", "successes", "bound", "verdict"),
    [
        (51, 0, 0.0504, "watch"),
        (52, 0, 0.0495, "disable"),
        (100, 1, 0.0436, "disable"),
        (400, 2, 0.0150, "disable"),
        (100, 10, 0.1604, "keep"),
        (30, 0, 0.0827, "watch"),
        (9, 0, None, "too_few"),
    ],
)
def test_verdicts_by_number_and_bound(
    tmp_path: Path, retries: int, successes: int, bound: float | None, verdict: str
) -> None:
    events = []
    for call in range(retries):
        events.append(attempt(at(call), f"A{call}", http_status=503, latency_ms=20))
        status = 204 if call < successes else 503
        events.append(attempt(at(call, 500), f"A{call}", http_status=status, latency_ms=10))
    rows = {(row["partner"], row["trigger"]): row for row in tables.rows(opened(tmp_path, events), "flags")}
    assert set(rows) == {("p", "server_error"), ("p", "*"), ("*", "server_error"), ("*", "*")}
    row = rows["p", "server_error"]
    assert (row["retries"], row["successes"], row["verdict"]) == (retries, successes, verdict)
    assert bound is None or round(row["upper_bound"], 4) == bound
    assert (row["retries_per_day"], row["ms_saved_per_day"]) == (retries, retries * 10.0)
    assert row["revenue_at_risk"] == {}


def test_forbidden_triggers_are_never_whatever_their_luck(tmp_path: Path) -> None:
    events = [
        attempt(at(0), "A"),
        attempt(at(1), "A", http_status=200, bids=1),
        attempt(at(2), "B", http_status=404),
        attempt(at(3), "B", http_status=200, bids=1),
        postback(at(0), order="o", http_status=400),
        postback(at(1), order="o"),
    ]
    rows = tables.rows(opened(tmp_path, events), "flags")
    never = {(row["stream"], row["partner"], row["trigger"]) for row in rows if row["verdict"] == "never"}
    assert never == {("exchange", "p", "no_bid"), ("exchange", "p", "client_error"), ("postback", "k", "client_error")}


def test_money_is_exact_and_never_added_across_currencies(tmp_path: Path) -> None:
    events = [attempt(at(0), f"A{i}", http_status=200, bids=1) for i in range(3)]
    events += [
        {"event": "win", "ts": at(5), "auction_id": f"A{i}", "partner": "p", "price": price, "currency": currency}
        for i, (price, currency) in enumerate([("1.25", "USD"), ("0.1", "EUR"), ("0.2", "EUR")])
    ]
    rows = tables.rows(opened(tmp_path, events), "notices")
    assert {row["currency"]: str(row["revenue"]) for row in rows} == {"USD": "0.001250000", "EUR": "0.000300000"}


def test_time_in_a_breaker_state_is_cut_to_the_range(tmp_path: Path) -> None:
    events = [attempt(at(second), f"A{second}") for second in (0, 10, 20, 30, 40)]
    events += [
        {"event": "breaker", "ts": at(15), "partner": "p", "state_from": "closed", "state_to": "open"},
        {"event": "breaker", "ts": at(35), "partner": "p", "state_from": "open", "state_to": "closed"},
    ]
    snapshot = opened(tmp_path, events)

    def reported(filters: Filters) -> list[tuple[str, int, bool]]:
        rows = tables.rows(snapshot, "breakers", filters)
        return [(row["state"], row["attempts"], row["to"] is None) for row in rows if row["kind"] == "reported"]

    assert reported(Filters()) == [("closed", 2, False), ("open", 2, False), ("closed", 1, True)]
    asked = make_filters(frm=at(20), to=at(38))
    assert [state for state, _, _ in reported(asked)] == ["open", "closed"]
    times = {row["state"]: (row["seconds"], row["attempts"]) for row in tables.rows(snapshot, "breaker_time", asked)}
    assert times == {"open": (15.0, 2), "closed": (3.0, 0)}


def test_hostile_partner_names_select_only_themselves(tmp_path: Path) -> None:
    names = ["a'b", "a\nb", "\\", "'; drop table attempts; --", "é\t\x1b[2J"]
    snapshot = opened(tmp_path, [attempt(at(0), "A", name) for name in names])
    for name in names:
        rows = tables.rows(snapshot, "outcomes", make_filters(partners=[name]))
        assert rows == [{"partner": name, "outcome": "no_bid", "attempts": 1}]


def test_long_tables_are_cut_and_say_so(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [attempt(at(second), f"A{second}") for second in range(5)])
    cut = tables.fetch(snapshot, "attempts", Filters(partners=("p",), limit=3))
    assert (len(cut.rows), cut.cut) == (3, True)
    whole = tables.fetch(snapshot, "attempts", Filters(partners=("p",), limit=5))
    assert (len(whole.rows), whole.cut) == (5, False)
