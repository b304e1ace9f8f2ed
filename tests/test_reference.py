"""The reference agrees with the worked examples of the metric definitions, and with itself on random logs."""

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import reference
from tests.reference import logs
from tests.reference.flags import verdict
from tests.reference.retries import ONE_SIDED, TWO_SIDED, wilson

START = logs.BASE
BID = {"seatbid": [{"bid": [{"price": 1.25}]}]}


def load(*events: dict[str, Any]) -> reference.Facts:
    """The facts of events, each at `at` milliseconds; an attempt is of auction A and partner p unless it says so."""
    lines = []
    for event in events:
        known = {"event": "attempt", "ts": START // 1_000 + event.get("at", 0), "auction_id": "A", "partner": "p"}
        lines.append(json.dumps(known | event).encode() + b"\n")
    facts = reference.load([b"".join(lines)])
    assert facts.facts == len(events)
    return facts


def only(name: str, facts: reference.Facts) -> dict[str, Any]:
    (row,) = reference.table(name, facts)
    return row


def budgeted(elapsed: float, **columns: Any) -> dict[str, Any]:
    return {"at": elapsed, "elapsed_ms": elapsed, "budget_ms": 300, "timeout_ms": 120, **columns}


@pytest.mark.parametrize(
    "successes, retries, upper, expected",
    [
        (0, 51, 0.0504, "watch"),
        (0, 52, 0.0495, "disable"),
        (1, 100, 0.0436, "disable"),
        (2, 400, 0.0150, "disable"),
        (30, 1000, 0.0402, "disable"),
        (10, 100, 0.1604, "keep"),
        (0, 30, 0.0827, "watch"),
        (0, 9, 0.2311, "too_few"),
    ],
)
def test_flag_bound_and_verdict(successes: int, retries: int, upper: float, expected: str) -> None:
    bound = wilson(successes, retries, ONE_SIDED)[1]
    assert bound == pytest.approx(upper, abs=5e-5)
    assert verdict("exchange", "p", "timeout", retries, successes, bound) == expected


def test_two_sided_interval() -> None:
    assert wilson(5, 10, TWO_SIDED) == pytest.approx((0.2366, 0.7634), abs=5e-5)


@pytest.mark.parametrize(
    "original, retry, late",
    [
        (budgeted(0, error_type="connection_refused"), budgeted(15, http_status=204, latency_ms=120), 0),
        (budgeted(0, error_type="timeout"), budgeted(120, http_status=204, latency_ms=120), 0),
        (budgeted(0, error_type="timeout"), budgeted(140, http_status=204, latency_ms=120), 0),
        (budgeted(0, error_type="timeout"), budgeted(141, http_status=204, latency_ms=120), 1),
    ],
)
def test_time_budget(original: dict[str, Any], retry: dict[str, Any], late: int) -> None:
    row = only("calls", load(original, retry))
    assert (row["late_retries"], row["late_checked"]) == (late, 1)


def test_a_no_bid_is_never_to_be_repeated() -> None:
    facts = load(budgeted(0, http_status=200, body={"nbr": 5}), budgeted(30, http_status=200, body=BID))
    verdicts = {(row["partner"], row["trigger"]): row["verdict"] for row in reference.table("flags", facts)}
    assert verdicts == {
        ("p", "no_bid"): "never",
        ("p", "*"): "too_few",
        ("*", "no_bid"): "too_few",
        ("*", "*"): "too_few",
    }


def test_what_cannot_be_judged_is_not_late() -> None:
    row = only("calls", load({"http_status": 503}, {"at": 40, "http_status": 204}))
    assert (row["late_retries"], row["late_checked"]) == (None, 0)


def test_recovered_chain_by_trigger_and_number() -> None:
    facts = load(
        {"at": 80, "attempt": 3, "http_status": 200, "body": BID},
        {"at": 40, "attempt": 2, "http_status": 503},
        {"at": 0, "attempt": 1, "error_type": "connection_refused"},
    )
    row = only("calls", facts)
    assert (row["retries"], row["retried"], row["recovered"], row["amplification"]) == (2, 1, 1, 3.0)
    assert row["actual_success"] == pytest.approx(1 / 3)
    assert row["effective_success"] == 1.0
    found = [
        (row["trigger"], row["retry_no"], row["successes"], row["bids"]) for row in reference.table("retries", facts)
    ]
    assert found == [("connect_error", 1, 0, 0), ("server_error", 2, 1, 1)]
    assert only("fate", facts)["fate"] == "recovered_2"


@pytest.mark.parametrize(
    "last, fate",
    [
        ([], "not_retried"),
        ([{"http_status": 503}], "exhausted"),
        ([{"not_sent": "no_time"}], "no_time"),
        ([{"http_status": 503}, {"not_sent": "breaker"}], "stopped"),
        ([{"error_type": "cancelled"}], "not_retried"),
    ],
)
def test_fate(last: list[dict[str, Any]], fate: str) -> None:
    events = [{"at": 40 * place, **event} for place, event in enumerate(last, start=1)]
    assert only("fate", load({"http_status": 500}, *events))["fate"] == fate


def test_a_call_ends_ten_minutes_after_its_first_attempt() -> None:
    facts = load(*({"at": at, "http_status": 503} for at in (0, 600_000, 600_001)))
    row = only("calls", facts)
    assert (row["calls"], row["retries"]) == (2, 1)


def test_an_order_ends_with_its_first_acceptance() -> None:
    def postback(at: int, status: int) -> dict[str, Any]:
        return {"event": "postback", "at": at, "key_id": "k", "http_status": status, "external_order_id": "o"}

    facts = load(postback(0, 429), postback(1_000, 200), postback(2_000, 200))
    row = only("calls", facts)
    assert (row["stream"], row["partner"], row["attempts_sent"], row["recovered"]) == ("postback", "k", 2, 1)
    counts = [row["count"] for row in reference.table("funnel", facts) if row["funnel"] == "postback"]
    assert counts == [3, 2, 2, 2, 1]


def test_a_win_delivered_thrice_pays_once() -> None:
    win = {"event": "win", "imp_id": "1", "price": 1.25}
    facts = load({"http_status": 200, "body": BID}, *({**win, "at": at} for at in (1_000, 1_000, 11_000)))
    row = only("notices", facts)
    assert (row["currency"], row["unique"], row["deliveries"], row["duplicates"]) == ("USD", 1, 3, 2)
    assert row["revenue"] == 0.00125


def test_breaker_marks_make_intervals() -> None:
    marks: list[dict[str, Any]] = [
        {"breaker": "closed", "http_status": 503},
        {"breaker": "open", "not_sent": "breaker"},
        {"breaker": "open", "not_sent": "breaker"},
        {"breaker": "half_open", "http_status": 204},
    ]
    facts = load(*({"auction_id": str(at), "at": at * 1_000, **mark} for at, mark in enumerate(marks)))
    rows = [row for row in reference.table("breakers", facts) if row["kind"] == "reported"]
    assert [(row["state"], row["attempts"], row["failures"], row["blocked"]) for row in rows] == [
        ("closed", 1, 1, 0),
        ("open", 0, 0, 2),
        ("half_open", 1, 0, 0),
    ]
    assert [row["to"] for row in rows[:2]] == [row["from"] for row in rows[1:]]
    assert rows[-1]["to"] is None


def test_mended_and_rejected() -> None:
    facts = reference.load(
        [
            b'{"event":"attempt","ts":1789344000,"auction_id":7,"partner":"p","latency_ms":NaN,"attempt":"1.5"}\n\n'
            b'{"event":"attempt","ts":1789344000,"auction_id":"","partner":"p"}\n',
            b"[1]\n",
        ]
    )
    assert (facts.lines, facts.facts, facts.blank) == (3, 1, 1)
    assert facts.mended == {"latency_ms": 1, "attempt": 1}
    assert (facts.rejects, facts.refused) == ([(0, 3)], [1])
    assert facts.attempts[0]["auction_id"] == "7"


random_logs = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@random_logs
@given(st.data())
def test_order_and_split_of_the_lines_do_not_matter(data: st.DataObject) -> None:
    lines = data.draw(logs.logs())
    frm, to, partners = data.draw(logs.filters())
    whole = reference.load([b"".join(line + b"\n" for line in lines)])
    split = reference.load(data.draw(logs.splits(lines)))
    assert (whole.facts, whole.repeated, whole.blank, whole.mended) == (
        split.facts,
        split.repeated,
        split.blank,
        split.mended,
    )
    assert whole.lines == split.lines == whole.facts + len(whole.rejects) + whole.blank + whole.repeated
    for name in reference.TABLES:
        assert reference.table(name, whole, frm, to, partners) == reference.table(name, split, frm, to, partners), name


@pytest.mark.slow
@random_logs
@given(logs.logs(), logs.filters())
def test_losses_add_up_to_the_difference_of_the_stages(
    lines: list[bytes], chosen: tuple[int | None, int | None, list[str] | None]
) -> None:
    facts = reference.load([b"".join(line + b"\n" for line in lines)])
    lost: Counter[tuple[str, str]] = Counter()
    for row in reference.table("losses", facts, *chosen):
        lost[row["funnel"], row["stage"]] += row["count"]
    stages = reference.table("funnel", facts, *chosen)
    for before, after in pairwise(stages):
        if before["funnel"] == after["funnel"] and None not in (before["count"], after["count"]):
            assert before["count"] - after["count"] == lost[after["funnel"], after["stage"]]


@pytest.mark.slow
@random_logs
@given(logs.logs(), st.integers(0, 8), st.data())
def test_ranges_that_touch_add_up(lines: list[bytes], days: int, data: st.DataObject) -> None:
    facts = reference.load([b"".join(line + b"\n" for line in lines)])
    edge = START + days * 86_400_000_000 + data.draw(st.sampled_from([0, 1, 40_000, 60_000_000]))
    sums = {"outcomes": "attempts", "no_bids": "no_bids", "calls": "calls", "notices": "deliveries", "fate": "calls"}
    for name, column in sums.items():
        parts = reference.table(name, facts, to=edge) + reference.table(name, facts, frm=edge)
        assert sum(row[column] for row in parts) == sum(row[column] for row in reference.table(name, facts)), name
