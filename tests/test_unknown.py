"""Unknown stays unknown: logs that show only the last attempt of a call, and postbacks without a status or a key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from dashboard import tables
from dashboard.components.data import Figures
from dashboard.filters import Filters
from dashboard.output import csv_bytes
from dashboard.report import report_files
from dashboard.snapshot import Snapshot, open_snapshot
from dashboard.tables.compose import compose
from dashboard.tables.context import Context
from dashboard.whatif import replay
from dashboard.whatif.parse import parse
from ingest.load import ingest
from tests.foreign_log import guide_sample
from tests.loaded import Event, at, attempt, postback
from tests.shown import opened_shown

pytestmark = pytest.mark.slow

Open = Callable[[Iterable[Event]], Snapshot]
Row = dict[str, Any]


@pytest.fixture
def shown(tmp_path: Path) -> Open:
    """Opens a warehouse that holds events of the format which may hide a part."""
    return lambda events: opened_shown(tmp_path, events)


def last(ts: str, auction: str, partner: str = "p", count: int | None = None, **values: Any) -> Event:
    """The last attempt of a call, the only one shown, of `count` (None: of how many is unknown)."""
    return attempt(ts, auction, partner, last_only=True, attempt_count=count, **values)


def rows(snapshot: Snapshot, name: str, *columns: str, filters: Filters | None = None) -> list[tuple[Any, ...]]:
    """These columns of a result table."""
    return [tuple(row[column] for column in columns) for row in tables.rows(snapshot, name, filters or Filters())]


def one(snapshot: Snapshot, name: str, **key: object) -> Row:
    """The only row of a result table with these values."""
    found = [row for row in tables.rows(snapshot, name) if all(row[column] == value for column, value in key.items())]
    assert len(found) == 1
    return found[0]


def figures(snapshot: Snapshot, name: str = "figures") -> list[Row]:
    """Rows of a statement of the pages."""
    with snapshot.cursor() as cursor:
        found = cursor.execute(compose(Figures(name), Context(snapshot, Filters())))
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def funnel(snapshot: Snapshot, name: str) -> Row:
    """Stage -> count of one funnel."""
    return {row["stage"]: row["count"] for row in tables.rows(snapshot, "funnel") if row["funnel"] == name}


def test_events_that_name_bids_leave_what_calls_won_unknown(tmp_path: Path) -> None:
    log = tmp_path / "analytics.log"
    log.write_text(guide_sample("pbs-go"))
    ingest([str(log)], tmp_path / "warehouse")
    snapshot = open_snapshot(tmp_path / "warehouse")
    assert sum(row["orphans"] for row in tables.rows(snapshot, "notices")) == 1
    assert (funnel(snapshot, "call")["bid"], funnel(snapshot, "call")["won"]) == (1, None)
    assert (funnel(snapshot, "auction")["bid"], funnel(snapshot, "auction")["filled"]) == (1, None)


def test_another_log_may_tell_what_calls_won_beside_events_that_name_bids(tmp_path: Path) -> None:
    (tmp_path / "analytics.log").write_text(guide_sample("pbs-go"))
    win = {"event": "win", "ts": at(0), "auction_id": "a", "partner": "p"}
    (tmp_path / "native.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (attempt(at(0), "a", "p"), win)))
    ingest([str(tmp_path / "analytics.log"), str(tmp_path / "native.jsonl")], tmp_path / "warehouse")
    assert funnel(open_snapshot(tmp_path / "warehouse"), "call")["won"] == 1


# ---------------------------------------------------------------------------------------------------------------------
# Calls


def test_a_count_tells_attempts_and_retries_but_not_how_they_ended(shown: Open) -> None:
    call = one(shown([last(at(0), "a", count=3)]), "calls")
    assert (call["calls"], call["calls_sent"], call["attempts_sent"], call["retries"]) == (1, 1, 3, 2)
    assert (call["retried"], call["amplification"], call["effective_success"]) == (1, 3.0, 1.0)
    assert (call["actual_success"], call["recovered"]) == (None, None)
    assert (call["late_retries"], call["late_checked"]) == (None, 0)


def test_without_a_count_retries_are_unknown_too(shown: Open) -> None:
    call = one(shown([last(at(0), "a")]), "calls")
    assert (call["calls"], call["calls_sent"], call["effective_success"]) == (1, 1, 1.0)
    unknown = ("attempts_sent", "retries", "retried", "amplification", "actual_success", "recovered")
    assert [call[name] for name in unknown] == [None] * 6


def test_a_count_of_one_hides_nothing(shown: Open) -> None:
    events = [last(at(0), "a", count=1), last(at(1), "b", count=1, http_status=503)]
    call = one(shown(events), "calls")
    assert (call["attempts_sent"], call["retries"], call["amplification"]) == (2, 0, 1.0)
    assert (call["actual_success"], call["recovered"]) == (0.5, 0)


def test_one_hidden_call_makes_its_partner_unknown_and_no_other(shown: Open) -> None:
    events = [last(at(0), "a", "p", count=2), attempt(at(1), "b", "p"), attempt(at(2), "c", "q")]
    assert rows(shown(events), "calls", "partner", "attempts_sent", "actual_success", "recovered") == [
        ("p", 3, None, None),
        ("q", 1, 1.0, 0),
    ]


def test_a_sum_over_partners_is_unknown_where_one_is(shown: Open) -> None:
    snapshot = shown([last(at(0), "a", "p", count=2), attempt(at(2), "c", "q")])
    [whole] = figures(snapshot)
    assert (whole["calls"], whole["attempts_sent"], whole["hidden"], whole["uncounted"]) == (2, 3, 1, 0)
    assert (whole["answered_attempts"], whole["judged_attempts"], whole["recovered"]) == (None, None, None)
    assert (whole["answered_calls"], whole["judged_calls"]) == (2, 2)
    assert [(row["partner"], row["hidden"], row["calls"]) for row in figures(snapshot, "hidden_calls")] == [("p", 1, 1)]


def test_unknown_is_exact_at_the_edges_of_a_range(shown: Open) -> None:
    snapshot = shown([last(at(30, 1), "a", count=2), attempt(at(30, 2), "b")])
    start = 1_789_383_630_000_000
    for frm, to, expected in ((start + 1, start + 2, None), (start + 2, None, 1.0), (None, start + 1, "none")):
        found = rows(snapshot, "calls", "actual_success", filters=Filters(frm_us=frm, to_us=to))
        assert found == ([] if expected == "none" else [(expected,)])


@pytest.mark.parametrize(
    ("ending", "attempts", "not_sent", "retried", "effective"),
    [
        ({"http_status": 503}, 3, 0, 1, 0.0),
        ({"http_status": None, "error_type": "cancelled"}, 3, 0, 1, 0.0),
        ({"http_status": None, "not_sent": "breaker"}, 2, 1, 1, 0.0),
    ],
)
def test_the_last_of_three_attempts_ends_the_call(
    shown: Open, ending: Row, attempts: int, not_sent: int, retried: int, effective: float
) -> None:
    call = one(shown([last(at(0), "a", count=3, **ending)]), "calls")
    assert (call["attempts_sent"], call["not_sent"], call["retried"]) == (attempts, not_sent, retried)
    assert (call["effective_success"], call["actual_success"]) == (effective, None)


def test_a_call_that_was_not_sent_hides_nothing(shown: Open) -> None:
    call = one(shown([last(at(0), "a", http_status=None, not_sent="limit")]), "calls")
    assert (call["calls_sent"], call["attempts_sent"], call["not_sent"], call["retries"]) == (0, 0, 1, 0)
    assert (call["amplification"], call["effective_success"]) == (None, None)


# ---------------------------------------------------------------------------------------------------------------------
# What needs the earlier outcomes


def test_the_fate_of_a_call_that_hides_its_original_is_unknown(shown: Open) -> None:
    events = [
        last(at(0), "a", count=3, http_status=503),
        last(at(1), "b", http_status=503),
        last(at(2), "c", count=1, http_status=503),
        last(at(3), "d", count=1),
    ]
    assert rows(shown(events), "fate", "fate", "calls") == [("not_retried", 1), ("unknown", 2)]


def test_hidden_calls_are_in_no_retries_flags_or_rules(shown: Open) -> None:
    told = {"elapsed_ms": 10, "budget_ms": 100, "timeout_ms": 200, "tmax_ms": 300, "breaker": "open"}
    events = [last(at(0), "a", count=3, http_status=503, **told), last(at(1), "a", count=1, **told)]
    snapshot = shown(events)
    for name in ("retries", "flags", "audit"):
        assert tables.rows(snapshot, name) == []
    assert rows(snapshot, "calls", "calls", "attempts_sent", "retries") == [(1, 4, 3)]


def test_calls_that_show_all_attempts_are_judged_beside_hidden_ones(shown: Open) -> None:
    events = [
        last(at(0), "a", count=3),
        attempt(at(1), "b", http_status=503),
        attempt(at(2), "b", http_status=204),
    ]
    snapshot = shown(events)
    assert rows(snapshot, "retries", "trigger", "retry_no", "retries", "successes") == [("server_error", 1, 1, 1)]
    assert {row["checked"] for row in tables.rows(snapshot, "audit")} == {1}


def test_outcomes_and_latency_count_what_is_shown_and_429_is_unknown(shown: Open) -> None:
    snapshot = shown([last(at(0), "a", count=4, http_status=429, latency_ms=8)])
    assert rows(snapshot, "outcomes", "outcome", "attempts") == [("rate_limited", 1)]
    assert rows(snapshot, "rate_limits", "requests", "limited", "rate") == [(1, None, None)]
    assert rows(snapshot, "latency", "attempts") == [(1,)]


def test_a_win_of_a_hidden_call_rescues_nothing_that_is_known(shown: Open) -> None:
    win = {"event": "win", "ts": at(1), "auction_id": "a", "partner": "p", "price": 2, "currency": "USD"}
    snapshot = shown([last(at(0), "a", count=2, http_status=200, price=2), win])
    assert figures(snapshot, "rescued") == []
    assert rows(snapshot, "funnel", "stage", "count")[5] == ("won", 1)


def test_why_a_call_got_no_answer_is_unknown_where_the_last_sent_attempt_is_hidden(shown: Open) -> None:
    snapshot = shown([last(at(0), "a", count=2, http_status=None, not_sent="breaker")])
    assert rows(snapshot, "losses", "funnel", "stage", "reason")[0] == ("call", "answered", "unknown")


def test_a_no_bid_of_a_source_without_codes_has_an_unknown_reason(shown: Open) -> None:
    events = [
        attempt(at(0), "a", http_status=None, answered=True, bids=0, no_code=True),
        attempt(at(1), "b", http_status=204, no_code=True),
    ]
    assert rows(shown(events), "no_bids", "reason", "class", "no_bids") == [
        ("no_reason", "none", 1),
        ("unknown", "unknown", 1),
    ]


def test_a_replay_leaves_hidden_calls_out_and_says_so(shown: Open) -> None:
    events = [
        last(at(0), "a", count=3, http_status=503),
        attempt(at(1), "b", http_status=503),
        attempt(at(2), "b", http_status=204),
    ]
    found = replay(shown(events), parse('{"triggers": []}', "policy"), Filters())
    assert (found.totals["calls"], found.totals["calls_hidden"]) == (1, 1)
    assert (found.totals["attempts_before"], found.totals["attempts_after"]) == (2, 1)
    assert found.estimate["added"] == 0


def test_the_weekly_report_leaves_unknown_cells_empty(shown: Open) -> None:
    snapshot = shown([last(at(0), "a"), postback(at(1), "k", "o", http_status=None)])
    files = report_files(snapshot, "2026-W38", "UTC")
    head, *lines = [line.split(",") for line in files["partners.csv"].decode("utf-8-sig").splitlines()]
    exchange = dict(zip(head, lines[0], strict=True))
    assert [exchange[name] for name in ("attempts_sent", "retries", "recovered", "amplification")] == [""] * 4
    head, line = [
        line.split(",")
        for line in files["rate_limits.csv"].decode("utf-8-sig").splitlines()
        if "post" in line or "req" in line
    ][:2]
    assert dict(zip(head, line, strict=True))["limited"] == ""


# ---------------------------------------------------------------------------------------------------------------------
# Postbacks without a status


def test_the_429_rate_is_unknown_where_a_status_is(shown: Open) -> None:
    events = [
        postback(at(0), "k", "o1", http_status=None),
        postback(at(1), "k", "o2", http_status=429),
        postback(at(2), "j", "o3", http_status=429),
    ]
    assert rows(shown(events), "rate_limits", "partner", "requests", "limited", "rate") == [
        ("j", 1, 1, 1.0),
        ("k", 2, None, None),
    ]
    assert rows(shown(events), "windows", "key", "requests", "limited") == [("j", 1, 1), ("k", 2, None)]


def test_the_stages_are_unknown_where_no_status_is_known_at_all(shown: Open) -> None:
    snapshot = shown([postback(at(0), "k", "o", http_status=None)])
    found = [row for row in tables.rows(snapshot, "funnel") if row["funnel"] == "postback"]
    assert [row["count"] for row in found] == [1, None, None, None, None]
    assert [row for row in tables.rows(snapshot, "losses") if row["funnel"] == "postback"] == []


def test_an_unknown_answer_is_a_loss_beside_known_ones(shown: Open) -> None:
    snapshot = shown([postback(at(0), "k", "o", http_status=None), postback(at(1), "k", "o2")])
    found = [row for row in tables.rows(snapshot, "funnel") if row["funnel"] == "postback"]
    assert [row["count"] for row in found] == [2, 1, 1, 1, 1]
    loss = [row for row in tables.rows(snapshot, "losses") if row["funnel"] == "postback"]
    assert [(row["stage"], row["reason"], row["count"]) for row in loss] == [("passed_limits", "answered_unknown", 1)]


@pytest.mark.parametrize(
    ("answers", "state", "retries"),
    [
        ([None], None, None),
        ([None, 200], None, None),
        ([503, None], None, None),
        ([503, None, 200], None, None),
        ([200, None], "accepted_first", 0),
        ([503, 200, None], "accepted_after_retry", 1),
    ],
)
def test_the_state_of_an_order_is_unknown_behind_an_unknown_answer(
    shown: Open, answers: list[int | None], state: str | None, retries: int | None
) -> None:
    events = [postback(at(10 * place), "k", "o", http_status=status) for place, status in enumerate(answers)]
    order = one(shown(events), "orders")
    assert (order["requests"], order["state"], order["retries_to_accept"]) == (len(answers), state, retries)
    assert order["duplicates"] is None


@pytest.mark.parametrize(
    ("answers", "attempts", "effective", "actual", "fate"),
    [
        ([None], 1, None, None, [("unknown", 1)]),
        ([None, 200], None, 1.0, None, [("unknown", 1)]),
        ([503, None], 2, None, None, [("unknown", 1)]),
        ([200, None], 1, 1.0, 1.0, []),
    ],
)
def test_success_of_orders_is_unknown_behind_an_unknown_answer(
    shown: Open, answers: list[int | None], attempts: int | None, effective: float | None, actual: float | None,
    fate: list[tuple[str, int]],
) -> None:  # fmt: skip
    snapshot = shown([postback(at(10 * place), "k", "o", http_status=s) for place, s in enumerate(answers)])
    order = one(snapshot, "calls")
    assert (order["attempts_sent"], order["effective_success"], order["actual_success"]) == (
        attempts, effective, actual,
    )  # fmt: skip
    assert rows(snapshot, "fate", "fate", "calls") == fate


def test_only_what_comes_before_an_unknown_answer_is_known_to_be_a_retry(shown: Open) -> None:
    events = [postback(at(10 * place), "k", "o", http_status=s) for place, s in enumerate([503, 503, None, 503])]
    snapshot = shown(events)
    assert rows(snapshot, "retries", "trigger", "retry_no", "retries", "successes") == [("server_error", 1, 1, 0)]
    assert {row["rule"]: row["checked"] for row in tables.rows(snapshot, "audit")} == {"R4": 1, "R8": 1, "R9": 1}


def test_a_conversion_is_unknown_where_no_postback_tells_its_answer(shown: Open) -> None:
    click = {"event": "click", "ts": at(1), "auction_id": "a", "partner": "p", "click_id": "c"}
    events = [attempt(at(0), "a", http_status=200, price=1), click]
    events.append(postback(at(2), "k", "o", http_status=None, click_id="c"))
    found = [row for row in tables.rows(shown(events), "funnel") if row["stage"] == "converted"]
    assert [row["count"] for row in found] == [None]


# ---------------------------------------------------------------------------------------------------------------------
# Postbacks without a key


def test_postbacks_without_a_key_are_counted_and_joined(shown: Open) -> None:
    known = {"endpoint": "/api/v1/postback", "signature_hash": "s", "idempotency_key": "i", "x_timestamp": at(0)}
    events = [
        postback(at(0), None, "o", http_status=503, body_hash="b1", **known),  # type: ignore[arg-type]
        postback(at(10), None, "o", http_status=503, body_hash="b1", **known),  # type: ignore[arg-type]
        postback(at(20), None, "o", conversion_id="c", body_hash="b2", click_id="x", **known),  # type: ignore[arg-type]
        postback(at(30), None, "o", conversion_id="c", body_hash="b2", **known),  # type: ignore[arg-type]
    ]
    snapshot = shown(events)
    order = one(snapshot, "orders")
    assert (order["tenant"], order["requests"], order["state"]) == (None, 4, "accepted_after_retry")
    assert order["conversion_ids"] == ["c"]
    assert order["faults"] == ["key_reuse", "reused_id", "unmarked_duplicate"]
    assert rows(snapshot, "calls", "partner", "attempts_sent", "recovered") == [(None, 3, 1)]
    assert rows(snapshot, "retries", "partner", "retry_no", "retries", "successes") == [
        (None, 1, 1, 0),
        (None, 2, 1, 1),
    ]
    assert rows(snapshot, "rate_limits", "partner", "requests", "limited") == [(None, 4, 0)]
    assert rows(snapshot, "signatures", "key", "requests", "replayed") == [(None, 4, 3)]
    assert rows(snapshot, "windows", "key", "requests") == [(None, 4)]
    assert rows(snapshot, "backoff", "key", "delays") == [(None, 2)]
    assert rows(snapshot, "order_faults", "fault", "tenant") == [
        ("key_reuse", None), ("reused_id", None), ("unmarked_duplicate", None),
    ]  # fmt: skip
    flags = rows(snapshot, "flags", "partner", "trigger", "retries")
    assert sorted(flags, key=str) == [
        ("*", "*", 2),
        ("*", "server_error", 2),
        (None, "*", 2),
        (None, "server_error", 2),
    ]


def test_a_429_without_a_key_is_followed_by_requests_without_one(shown: Open) -> None:
    events = [
        postback(at(0), None, "o", http_status=429, retry_after="60"),  # type: ignore[arg-type]
        postback(at(10), "k", "o1"),
        postback(at(20), None, "o2"),  # type: ignore[arg-type]
    ]
    assert rows(shown(events), "retry_after", "key", "limited", "early", "never", "wasted") == [(None, 1, 1, 0, 1)]


def test_an_unknown_cell_is_empty_in_csv() -> None:
    assert csv_bytes(("limited",), [(None,)]).decode("utf-8-sig").splitlines()[1] == ""
