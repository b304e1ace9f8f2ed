"""The table `audit`: given these attempts, auctions and postbacks, the rules that they broke and on how many judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dashboard import tables
from dashboard.components.audit import BY_RULE, source
from dashboard.components.data import table
from dashboard.components.shapes import Sum
from dashboard.filters import Filters, make_filters
from dashboard.snapshot import Snapshot
from tests.loaded import Event, at, attempt, opened, postback

pytestmark = pytest.mark.slow

Counts = dict[str, tuple[int, int]]


def audit(snapshot: Snapshot, stream: str = "exchange", filters: Filters | None = None) -> Counts:
    """rule or "rule severity" of R1 -> (violations, checked), over all partners."""
    found: Counts = {}
    for row in tables.rows(snapshot, "audit", filters or Filters()):
        if row["stream"] == stream:
            name = f"R1 {row['severity']}" if row["rule"] == "R1" else row["rule"]
            before = found.get(name, (0, 0))
            found[name] = (before[0] + row["violations"], before[1] + row["checked"])
    return found


def call(*attempts: dict[str, Any], auction: str = "A", second: int = 0, partner: str = "p") -> list[Event]:
    """Attempts of one call, 50 ms apart."""
    return [attempt(at(second, 50_000 * place), auction, partner, **values) for place, values in enumerate(attempts)]


def test_a_rule_has_a_row_only_where_something_was_judged(tmp_path: Path) -> None:
    assert audit(opened(tmp_path, call({"http_status": 204}))) == {}


def test_what_the_log_never_carried_is_no_row(tmp_path: Path) -> None:
    found = audit(opened(tmp_path, call({"http_status": 503}, {"http_status": 204})))
    assert found == {"R1 harmful": (0, 1), "R1 waste": (0, 1)} | dict.fromkeys(("R2", "R3", "R4", "R8"), (0, 1))


@pytest.mark.parametrize(
    ("trigger", "broken"),
    [
        ({"http_status": 204}, {"R1 waste"}),
        ({"http_status": 200, "nbr": 2, "bids": 0}, {"R1 harmful"}),
        ({"http_status": 200, "nbr": 5, "bids": 0}, {"R1 harmful"}),
        ({"http_status": 200, "nbr": 6, "bids": 0}, {"R1 waste"}),
        ({"http_status": 500}, {"R2"}),
        ({"http_status": 502}, set()),
        ({"http_status": 429}, {"R2"}),
        ({"http_status": 200, "bids": 1, "price": "1.0"}, {"R2"}),
        ({"http_status": 0, "error_type": "connection_refused"}, set()),
        ({"http_status": 0, "error_type": "cancelled"}, {"R2"}),
        ({"http_status": 0, "error_type": "timeout"}, {"R3"}),
        ({"http_status": 400}, {"R8"}),
    ],
)
def test_what_a_retry_repeats_breaks_its_rule(tmp_path: Path, trigger: dict[str, Any], broken: set[str]) -> None:
    found = audit(opened(tmp_path, call(trigger, {"http_status": 204})))
    assert {rule for rule, (violations, _) in found.items() if violations} == broken
    assert all(checked == 1 for _, checked in found.values())


def test_a_cancelled_retry_is_in_no_n(tmp_path: Path) -> None:
    found = audit(opened(tmp_path, call({"http_status": 204}, {"http_status": 0, "error_type": "cancelled"})))
    assert found == {}


def test_each_retry_after_the_second_is_one_too_many(tmp_path: Path) -> None:
    found = audit(opened(tmp_path, call(*[{"http_status": 503}] * 5)))
    assert found["R4"] == (2, 4)


def test_the_worked_cases_of_the_time_budget(tmp_path: Path) -> None:
    common = {"budget_ms": 300, "timeout_ms": 120}
    cases: dict[str, list[dict[str, Any]]] = {
        "a": [{"error_type": "connection_refused", "http_status": 0}, {"elapsed_ms": 15}],
        "b": [{"error_type": "timeout", "http_status": 0}, {"elapsed_ms": 120}],
        "late": [{"http_status": 503}, {"elapsed_ms": 141}],
        "untold": [{"http_status": 503}, {}],
    }
    events = [
        event
        for second, (name, parts) in enumerate(cases.items())
        for event in call(*[common | part for part in parts], auction=name, second=second, partner=name)
    ]
    rows = {
        row["partner"]: (row["violations"], row["checked"])
        for row in tables.rows(opened(tmp_path, events), "audit")
        if row["rule"] == "R5"
    }
    assert rows == {"a": (0, 1), "b": (0, 1), "late": (1, 1)}


def test_a_changed_request_id_and_a_tmax_beyond_the_time_left(tmp_path: Path) -> None:
    first = {"http_status": 503, "request_id": "r1", "tmax_ms": 300, "budget_ms": 300, "elapsed_ms": 0}
    second = {"http_status": 204, "request_id": "r2", "tmax_ms": 300, "budget_ms": 300, "elapsed_ms": 1}
    found = audit(opened(tmp_path, call(first, second, second | {"request_id": "r1", "tmax_ms": 299})))
    assert found["R6"] == (1, 2)
    assert found["R12"] == (1, 3)


def test_an_attempt_is_judged_by_the_breaker_as_it_stood_just_before(tmp_path: Path) -> None:
    events = [attempt(at(second), f"A{second}", node="n") for second in (0, 10, 11, 20)]
    change = {"event": "breaker", "partner": "p", "node": "n"}
    events.append(change | {"ts": at(10), "state_from": "closed", "state_to": "open"})
    events.append(change | {"ts": at(20), "state_from": "open", "state_to": "closed"})
    assert audit(opened(tmp_path, events))["R7"] == (2, 3)


def empties(delay_ms: int, **values: Any) -> list[Event]:
    """Three auctions that nobody bid on, 10 s apart, and a fourth so long after the third."""
    starts = [0, 10_000_000, 20_000_000, 20_000_000 + 1000 * delay_ms]
    return [
        {"event": "auction", "ts": at(us // 1_000_000, us % 1_000_000), "auction_id": f"A{place}"}
        | {"source": "s", "placement": "top"}
        | values
        for place, us in enumerate(starts)
    ]


@pytest.mark.parametrize(("delay_ms", "violations"), [(1_000, 1), (1_001, 0)])
def test_hammering_after_three_auctions_without_a_bid(tmp_path: Path, delay_ms: int, violations: int) -> None:
    snapshot = opened(tmp_path, empties(delay_ms))
    assert tables.rows(snapshot, "audit") == [
        {"rule": "R9", "severity": "load", "stream": "exchange", "partner": None}
        | {"violations": violations, "checked": 1}
    ]
    assert tables.rows(snapshot, "audit", make_filters(partners=["p"])) == []
    assert tables.rows(snapshot, "audit", make_filters(to=at(20))) == []


def test_auctions_without_a_source_are_not_judged(tmp_path: Path) -> None:
    assert audit(opened(tmp_path, empties(10, source=None))) == {}


def test_postback_retries(tmp_path: Path) -> None:
    events = [postback(at(0, 50_000 * place), order="o1", http_status=500) for place in range(7)]
    events += [postback(at(60 + place), order="o2", http_status=404) for place in range(2)]
    found = audit(opened(tmp_path, events), "postback")
    assert found == {"R4": (1, 7), "R8": (1, 7), "R9": (6, 7)}


def test_a_retry_signed_as_before_is_stale(tmp_path: Path) -> None:
    events = [
        postback(at(second), order="o1", http_status=500, signature_hash=f"s{second // 2}") for second in range(4)
    ]
    assert audit(opened(tmp_path, events), "postback")["R11"] == (2, 3)


def waits(second: int, retry_after: str = "10") -> list[Event]:
    """A key that is told to wait, and its next request so many seconds later."""
    return [
        postback(at(0), order="o1", endpoint="/e", http_status=429, retry_after=retry_after),
        postback(at(second), order="o1", endpoint="/e"),
    ]


@pytest.mark.parametrize(
    ("second", "counts"),
    [(8, (1, 1)), (9, (0, 1)), (20, (0, 1)), (21, (0, 1))],
    ids=["early", "on_time", "last_on_time", "late"],
)
def test_retry_after_is_broken_by_an_early_request(tmp_path: Path, second: int, counts: tuple[int, int]) -> None:
    assert audit(opened(tmp_path, waits(second)), "postback")["R10"] == counts


def test_a_wait_that_is_not_over_is_not_judged_and_one_that_is_was_kept(tmp_path: Path) -> None:
    alone = waits(0)[:1]
    other = [postback(at(20, 1), "other", order="x", endpoint="/e")]
    assert "R10" not in audit(opened(_folder(tmp_path, "pending"), alone), "postback")
    assert audit(opened(_folder(tmp_path, "never"), alone + other), "postback")["R10"] == (0, 1)
    assert "R10" not in audit(opened(_folder(tmp_path, "text"), waits(5, "soon")), "postback")


def _folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


def test_a_wait_lies_at_its_order_and_belongs_to_its_key(tmp_path: Path) -> None:
    events = [
        postback(at(0), order="o1", http_status=500),
        *[e | {"ts": at(100 + 5 * n)} for n, e in enumerate(waits(0))],
    ]
    snapshot = opened(tmp_path, events)
    assert audit(snapshot, "postback", make_filters(to=at(1)))["R10"] == (1, 1)
    assert "R10" not in audit(snapshot, "postback", make_filters(frm=at(1)))
    assert "R10" not in audit(snapshot, "postback", make_filters(partners=["q"]))


def test_rows_are_sorted_by_rule_number(tmp_path: Path) -> None:
    events = empties(10) + call({"http_status": 429, "retry_after": "9"}, {}, auction="X", second=90)
    rules = [row["rule"] for row in tables.rows(opened(tmp_path, events), "audit")]
    assert rules == ["R1", "R1", "R2", "R3", "R4", "R8", "R9", "R10"]


def test_the_cases_behind_a_rule_hold_as_many_violations(tmp_path: Path) -> None:
    events = [
        *call(*[{"http_status": 503}] * 4, auction="A"),
        *call({"http_status": 200, "nbr": 3, "bids": 0}, {"http_status": 400}, {}, auction="B", second=30),
        *call({"http_status": 429, "retry_after": "9"}, {}, auction="C", second=60),
        *empties(10),
        *[postback(at(100, 50_000 * place), order="o1", http_status=400) for place in range(8)],
        *[event | {"ts": at(200 + place), "key_id": "k2"} for place, event in enumerate(waits(0))],
    ]
    snapshot = opened(tmp_path, events)
    broken = []
    for stream in ("exchange", "postback"):
        shape = Sum(("rule", "severity"), BY_RULE, f"stream = '{stream}'")
        for row in table(snapshot, "audit", Filters(), shape=shape).rows:
            name, cases = source(stream, row)
            found = table(snapshot, name, Filters(), shape=cases).rows
            column = f"r1_{row['severity']}" if row["rule"] == "R1" else row["rule"].lower()
            assert sum(case.get(column, 1) for case in found) == row["violations"], (stream, row)
            broken += [row["rule"]] * bool(row["violations"])
    assert sorted(broken) == sorted(["R1", "R2", "R4", "R8", "R9", "R10", "R4", "R8", "R9", "R10"])


def test_the_attempts_of_an_auction_are_told_with_the_rules_that_they_broke(tmp_path: Path) -> None:
    events = call({"http_status": 200, "nbr": 3, "bids": 0}, {"http_status": 400}, {"http_status": 400}, {})
    snapshot = opened(tmp_path, events)
    rows = table(snapshot, "audit_attempts", Filters(auction="A")).rows
    assert [(row["retry_no"], row["trigger"], row["broken"]) for row in rows] == [
        (0, None, []),
        (1, "no_bid", ["R1 harmful"]),
        (2, "client_error", ["R8"]),
        (3, "client_error", ["R4", "R8"]),
    ]


def test_the_time_left_of_retries_is_counted_by_twenty_milliseconds(tmp_path: Path) -> None:
    common = {"budget_ms": 300, "timeout_ms": 120, "http_status": 503}
    elapsed = [0, 15, 139, 141, 300, None]
    events = call(*[common | ({} if ms is None else {"elapsed_ms": ms}) for ms in elapsed])
    rows = table(opened(tmp_path, events), "budget_left", Filters(partners=("p",))).rows
    assert [(row["left_from_ms"], row["retries"], row["feasible"], row["infeasible"]) for row in rows] == [
        (-40, 1, 0, 1),
        (100, 1, 0, 1),
        (120, 1, 1, 0),
        (240, 1, 1, 0),
        (None, 1, 0, 0),
    ]


def test_the_range_keeps_retries_by_their_call(tmp_path: Path) -> None:
    common = {"budget_ms": 300, "timeout_ms": 120, "http_status": 503, "elapsed_ms": 100}
    snapshot = opened(tmp_path, call(common, common) + call(common, common, auction="B", second=9))
    filters = make_filters(frm=at(0), to=at(0, 1), partners=["p"])
    assert [row["retries"] for row in table(snapshot, "budget_left", filters).rows] == [1]


def test_rescued_money_is_told_by_currency(tmp_path: Path) -> None:
    events = []
    for place, (price, currency) in enumerate([("2", "USD"), ("3", "USD"), ("5", "EUR"), (None, None)]):
        auction = f"A{place}"
        events += call(
            {"http_status": 503}, {"http_status": 200, "bids": 1, "price": "9"}, auction=auction, second=place
        )
        won = {"event": "win", "ts": at(20), "auction_id": auction, "partner": "p"}
        events.append(won | ({} if price is None else {"price": price, "currency": currency}))
    events += call({"http_status": 200, "bids": 1, "price": "9"}, auction="first", second=9)
    events.append(
        {"event": "win", "ts": at(20), "auction_id": "first", "partner": "p", "price": "9", "currency": "USD"}
    )
    rows = table(opened(tmp_path, events), "rescued", Filters()).rows
    assert [
        (row["currency"], row["wins"], None if row["revenue"] is None else float(row["revenue"])) for row in rows
    ] == [
        ("EUR", 1, 0.005),
        ("USD", 2, 0.005),
        (None, 1, None),
    ]
