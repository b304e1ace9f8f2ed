"""The rules on retries, attempt by attempt: what each is judged on and what breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.test_models import Bench

RULES = ("r1_harmful", "r1_waste", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r12")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.con.close()


def verdicts(bench: Bench, *rules: str) -> list[tuple[Any, ...]]:
    """Verdicts on each attempt of the calls, in their order: None not judged, 0 kept, 1 broken."""
    return bench.run("call_attempts", ", ".join(rules), "auction_id, position")


def broken(bench: Bench) -> set[str]:
    """Rules that the last attempt breaks."""
    last = verdicts(bench, *RULES)[-1]
    return {rule for rule, verdict in zip(RULES, last, strict=True) if verdict}


@pytest.mark.parametrize(
    ("trigger", "values", "rules"),
    [
        ("no_bid", {"reason": "no_reason"}, {"r1_waste"}),
        ("no_bid", {"reason": "0"}, {"r1_waste"}),
        ("no_bid", {"reason": "2"}, {"r1_harmful"}),
        ("no_bid", {"reason": "5"}, {"r1_harmful"}),
        ("no_bid", {"reason": "6"}, {"r1_waste"}),
        ("no_bid", {"reason": "500"}, {"r1_waste"}),
        ("connect_error", {}, set()),
        ("tls_error", {}, set()),
        ("server_error", {"http_status": 502}, set()),
        ("server_error", {"http_status": 503}, set()),
        ("server_error", {"http_status": 500}, {"r2"}),
        ("server_error", {"http_status": 504}, {"r2"}),
        ("reset", {}, {"r2"}),
        ("rate_limited", {}, {"r2"}),
        ("invalid_response", {}, {"r2"}),
        ("unexpected_status", {}, {"r2"}),
        ("unknown_error", {}, {"r2"}),
        ("cancelled", {}, {"r2"}),
        ("bid", {}, {"r2"}),
        ("answered_unknown", {}, {"r2"}),
        ("timeout", {}, {"r3"}),
        ("client_error", {}, {"r8"}),
    ],
)
def test_what_may_not_be_repeated(bench: Bench, trigger: str, values: dict[str, Any], rules: set[str]) -> None:
    bench.attempt(0, trigger, **values)
    bench.attempt(0.04, "no_bid", reason="no_reason")
    assert broken(bench) == rules
    assert verdicts(bench, *RULES)[0] == (None,) * len(RULES)


def test_the_third_retry_is_one_too_many(bench: Bench) -> None:
    for second in range(4):
        bench.attempt(second, "connect_error")
    assert verdicts(bench, "r4") == [(None,), (0,), (0,), (1,)]


def test_a_cancelled_retry_is_judged_by_no_rule_on_retries(bench: Bench) -> None:
    bench.attempt(0, "no_bid", reason="2")
    bench.attempt(1, "cancelled")
    assert verdicts(bench, "r1_harmful", "r4") == [(None, None), (None, None)]
    assert bench.run("calls", "retries, retries_checked, r1_harmful") == [(1, 0, 0)]


def test_an_attempt_that_was_not_sent_is_no_trigger(bench: Bench) -> None:
    bench.attempt(0, "connect_error")
    bench.attempt(1, "not_sent_limit", not_sent="limit")
    bench.attempt(2, "no_bid", reason="no_reason")
    assert verdicts(bench, "r2", "r4") == [(None, None), (None, None), (0, 0)]


@pytest.mark.parametrize(
    ("trigger", "elapsed", "left", "feasible", "others"),
    [
        ("connect_error", 15.0, 245.0, True, set()),
        ("timeout", 120.0, 140.0, True, {"r3"}),
        ("no_bid", 30.0, 230.0, True, {"r1_harmful"}),
        ("connect_error", 140.0, 120.0, True, set()),
        ("connect_error", 140.5, 119.5, False, {"r5"}),
    ],
    ids=["A: refused at 15 ms", "B: no answer for 120 ms", "C: nbr 5 at 30 ms", "just feasible", "no longer"],
)
def test_the_time_budget(
    bench: Bench, trigger: str, elapsed: float, left: float, feasible: bool, others: set[str]
) -> None:
    """tmax 300, reserve 40, timeout 120: the deadline is at 260 ms."""
    shared = {"budget_ms": 300.0, "timeout_ms": 120.0}
    bench.attempt(0, trigger, elapsed_ms=0.0, reason="5" if trigger == "no_bid" else None, **shared)
    bench.attempt(0.001 * elapsed, "no_bid", elapsed_ms=elapsed, reason="no_reason", **shared)
    assert broken(bench) == others
    assert bench.run("call_attempts", "left_ms, r5", "position")[1] == (left, 0 if feasible else 1)


@pytest.mark.parametrize("unknown", ["budget_ms", "timeout_ms", "elapsed_ms"])
def test_without_a_part_of_the_budget_no_verdict_on_time(bench: Bench, unknown: str) -> None:
    known = {"budget_ms": 100.0, "timeout_ms": 120.0, "elapsed_ms": 90.0} | {unknown: None}
    bench.attempt(0, "connect_error", **known)
    bench.attempt(1, "no_bid", reason="no_reason", **known)
    assert verdicts(bench, "r5")[1] == (None,)
    assert bench.run("calls", "r5, r5_checked") == [(0, 0)]


def test_the_auction_s_tmax_stands_for_a_budget_that_is_not_logged(bench: Bench) -> None:
    bench.add("auctions", 0, auction_id="A", tmax_ms=100.0)
    bench.attempt(0, "connect_error", elapsed_ms=0.0, timeout_ms=50.0, tmax_ms=100.0)
    bench.attempt(1, "no_bid", reason="no_reason", elapsed_ms=20.0, timeout_ms=50.0, tmax_ms=100.0)
    assert verdicts(bench, "r5", "r12") == [(None, 0), (1, 1)]


@pytest.mark.parametrize(
    ("first", "second", "verdict"), [("r-1", "r-1", 0), ("r-1", "r-2", 1), (None, "r-2", None), ("r-1", None, None)]
)
def test_a_new_request_id_risks_a_duplicate(
    bench: Bench, first: str | None, second: str | None, verdict: int | None
) -> None:
    bench.attempt(0, "connect_error", request_id=first)
    bench.attempt(1, "no_bid", reason="no_reason", request_id=second)
    assert verdicts(bench, "r6") == [(None,), (verdict,)]


def test_the_id_is_compared_with_the_original_s_not_with_the_trigger_s(bench: Bench) -> None:
    for second, name in enumerate(("r-1", "r-2", "r-1")):
        bench.attempt(second, "connect_error", request_id=name)
    assert verdicts(bench, "r6") == [(None,), (1,), (0,)]


def test_a_breaker_stands_as_it_was_just_before_the_attempt(bench: Bench) -> None:
    for second in (0, 1, 2, 3, 4):
        bench.attempt(second, "no_bid", reason="no_reason", auction_id=f"A{second}", node="n1")
    bench.add("breaker_events", 2, partner="p", node="n1", state_from="closed", state_to="open")
    bench.add("breaker_events", 3.5, partner="p", node="n1", state_from="open", state_to="closed")
    assert verdicts(bench, "r7") == [(None,), (0,), (0,), (1,), (0,)]


def test_a_breaker_of_another_node_or_partner_is_none_of_it(bench: Bench) -> None:
    bench.attempt(0, "no_bid", reason="no_reason", node="n1")
    bench.attempt(5, "no_bid", reason="no_reason", node="n1")
    bench.attempt(5, "no_bid", reason="no_reason", node="n2", auction_id="B")
    bench.attempt(5, "no_bid", reason="no_reason", partner="q", auction_id="C")
    bench.add("breaker_events", 2, partner="p", node="n2", state_from="closed", state_to="open")
    assert verdicts(bench, "r7") == [(None,), (None,), (1,), (None,)]


def test_marks_tell_the_state_where_there_are_no_events(bench: Bench) -> None:
    for second, state in ((0, None), (1, "open"), (2, "open"), (3, None), (4, None)):
        bench.attempt(second, "no_bid", reason="no_reason", auction_id=f"A{second}", breaker=state)
    assert verdicts(bench, "r7") == [(None,), (0,), (1,), (1,), (0,)]


def test_a_state_outlives_the_hour(bench: Bench) -> None:
    bench.attempt(0, "no_bid", reason="no_reason")
    bench.add("breaker_events", 1, partner="p", state_from="closed", state_to="open")
    bench.attempt(7200, "no_bid", reason="no_reason", auction_id="B")
    assert verdicts(bench, "r7") == [(None,), (1,)]


@pytest.mark.parametrize(
    ("tmax", "elapsed", "verdict"), [(280.0, 20.0, 0), (280.001, 20.0, 1), (None, 20.0, None), (280.0, None, None)]
)
def test_tmax_is_what_is_left_of_the_budget(
    bench: Bench, tmax: float | None, elapsed: float | None, verdict: int | None
) -> None:
    bench.attempt(0, "bid", tmax_ms=tmax, elapsed_ms=elapsed, budget_ms=300.0)
    assert verdicts(bench, "r12") == [(verdict,)]


def test_an_attempt_that_was_not_sent_breaks_nothing(bench: Bench) -> None:
    bench.add("breaker_events", -1, partner="p", state_from="closed", state_to="open")
    bench.attempt(0, "not_sent_breaker", not_sent="breaker", tmax_ms=500.0, elapsed_ms=1.0, budget_ms=300.0)
    assert verdicts(bench, "r7", "r12") == [(None, None)]


def test_a_delay_is_the_logged_back_off_else_the_gap_after_the_answer(bench: Bench) -> None:
    bench.attempt(0, "rate_limited", latency_ms=30.0, retry_after_s=1.0)
    bench.attempt(0.1, "server_error", http_status=503, latency_ms=500.0)
    bench.attempt(0.2, "server_error", http_status=503)
    bench.attempt(0.3, "no_bid", reason="no_reason", backoff_ms=25.0)
    assert bench.run("retries", "retry_no, delay_ms, told", "retry_no") == [(1, 70.0, 1), (2, 0.0, 0), (3, 25.0, 0)]


def test_an_auction_empty_without_winner_and_bid(bench: Bench) -> None:
    bench.attempt(0, "no_bid", reason="no_reason", auction_id="A", source="s", placement="p1")
    bench.attempt(0, "bid", auction_id="B", source="s", placement="p1")
    bench.add("auctions", 0, auction_id="C", source="s2", placement="p2", winner="q")
    bench.add("auctions", 0, auction_id="D")
    assert bench.run("auction_stages", "auction_id, source, placement, empty", "auction_id") == [
        ("A", "s", "p1", 1),
        ("B", "s", "p1", 0),
        ("C", "s2", "p2", 0),
        ("D", None, None, 1),
    ]
