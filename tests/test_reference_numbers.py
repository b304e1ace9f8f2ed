"""The reference agrees with the worked examples of what judges, waits, breaks and counts twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import reference
from tests.reference import Limits, logs
from tests.reference.delays import delays

pytestmark = pytest.mark.slow

BEGIN = logs.BASE // 1_000
SALE = {"tenant": "t", "event_type": "sale", "external_order_id": "o"}
Events = list[dict[str, Any]]


def facts_of(kind: str, *events: dict[str, Any]) -> reference.Facts:
    """The facts of events, each `at` milliseconds; a call is of auction A and partner p, a postback of key k."""
    common = {"attempt": {"auction_id": "A", "partner": "p"}, "postback": {"key_id": "k", "http_status": 200}}
    lines = []
    for event in events:
        known = {"event": kind, **common.get(event.get("event", kind), {})}
        stamps = {"ts": BEGIN + event.get("at", 0)}
        stamps |= {"x_timestamp": BEGIN + event["x_at"]} if "x_at" in event else {}
        lines.append(json.dumps({**known, **event, **stamps}).encode() + b"\n")
    facts = reference.load([b"".join(lines)])
    assert facts.facts == len(events)
    return facts


def attempts(*events: dict[str, Any]) -> reference.Facts:
    return facts_of("attempt", *events)


def postbacks(*events: dict[str, Any]) -> reference.Facts:
    return facts_of("postback", *events)


def audited(facts: reference.Facts, **filters: Any) -> dict[str, tuple[int, int]]:
    """(violations, checked) by rule; R1 by its severity too."""
    rows = reference.table("audit", facts, **filters)
    return {
        row["rule"] + ("" if row["rule"] != "R1" else f" {row['severity']}"): (row["violations"], row["checked"])
        for row in rows
    }


def budgeted(elapsed: float, **columns: Any) -> dict[str, Any]:
    return {"at": elapsed, "elapsed_ms": elapsed, "budget_ms": 300, "timeout_ms": 120, **columns}


def test_case_a_is_feasible_and_safe() -> None:
    facts = attempts(budgeted(0, error_type="connection_refused"), budgeted(15, http_status=204, latency_ms=120))
    judged = audited(facts)
    assert judged["R5"] == judged["R2"] == judged["R3"] == (0, 1)


def test_case_b_is_feasible_on_paper_but_repeats_a_timeout() -> None:
    facts = attempts(budgeted(0, error_type="timeout"), budgeted(120, http_status=204))
    assert (audited(facts)["R5"], audited(facts)["R3"]) == ((0, 1), (1, 1))


def test_case_c_is_never_to_be_repeated() -> None:
    facts = attempts(budgeted(0, http_status=200, body={"nbr": 5}), budgeted(30, http_status=204))
    assert (audited(facts)["R1 harmful"], audited(facts)["R1 waste"]) == ((1, 1), (0, 1))


@pytest.mark.parametrize(("elapsed", "broken"), [(140, 0), (140.5, 1), (141, 1)])
def test_a_retry_needs_its_timeout_within_the_budget(elapsed: float, broken: int) -> None:
    retry = {**budgeted(elapsed, http_status=204), "at": 141}
    assert audited(attempts(budgeted(0, http_status=503), retry))["R5"] == (broken, 1)


@pytest.mark.parametrize(("tmax", "broken"), [(160, 0), (160.5, 1), (300, 1)])
def test_what_is_sent_as_tmax_is_what_is_left(tmax: float, broken: int) -> None:
    assert audited(attempts(budgeted(140, tmax_ms=tmax)))["R12"] == (broken, 1)


def test_the_budget_is_the_auctions_own_where_the_attempt_has_none() -> None:
    auction = {"event": "auction", "auction_id": "A", "tmax_ms": 100}
    facts = attempts(auction, {"elapsed_ms": 50, "tmax_ms": 60, "http_status": 204})
    assert audited(facts)["R12"] == (1, 1)


def test_a_row_exists_only_where_something_was_judged() -> None:
    assert audited(attempts({"http_status": 503})) == {}
    judged = audited(attempts({"http_status": 503}, {"at": 40, "http_status": 204}))
    assert judged == dict.fromkeys(["R1 harmful", "R1 waste", "R2", "R3", "R4", "R8"], (0, 1))


def test_a_cancelled_retry_is_judged_by_r7_and_r12_only() -> None:
    facts = attempts({"http_status": 503}, budgeted(40, error_type="cancelled", tmax_ms=300))
    assert audited(facts) == {"R12": (1, 1)}


@pytest.mark.parametrize(
    ("trigger", "broken"),
    [
        ({"http_status": 500}, 1),
        ({"http_status": 502}, 0),
        ({"http_status": 503}, 0),
        ({"http_status": 429}, 1),
        ({"error_type": "reset"}, 1),
        ({"error_type": "tls"}, 0),
        ({"error_type": "cancelled"}, 1),
        ({"http_status": 200, "bids": 1}, 1),
        ({"http_status": 200}, 1),
        ({"http_status": 404}, 0),
    ],
)
def test_only_some_triggers_are_safe_to_repeat(trigger: dict[str, Any], broken: int) -> None:
    assert audited(attempts(trigger, {"at": 40, "http_status": 204}))["R2"] == (broken, 1)


def test_a_breaker_counts_from_after_its_change() -> None:
    opened = {"event": "breaker", "partner": "p", "node": "n", "at": 100, "state_from": "closed", "state_to": "open"}
    sent = [{"auction_id": str(at), "at": at, "node": "n", "http_status": 204} for at in (0, 50, 100, 101)]
    assert audited(attempts(opened, *sent))["R7"] == (1, 3)


def queue(*places: float, **columns: Any) -> Events:
    return [
        {"event": "auction", "auction_id": f"a{number}", "at": at, "source": "s", "placement": "x", **columns}
        for number, at in enumerate(places)
    ]


def test_three_empty_auctions_in_a_row_ask_for_a_second_of_quiet() -> None:
    assert audited(attempts(*queue(0, 5_000, 10_000, 11_000)))["R9"] == (1, 1)
    assert audited(attempts(*queue(0, 5_000, 10_000, 11_001, 12_001)))["R9"] == (1, 2)
    assert "R9" not in audited(attempts(*queue(0, 5_000, 10_000)))
    won = queue(0, 5_000, 10_000, 11_000)
    won[1]["winner"] = "p"
    assert "R9" not in audited(attempts(*won))


def test_retries_of_an_order() -> None:
    places = (0, 100, 201, 1_000, 2_000, 3_000, 4_000, 5_000)
    facts = postbacks(*({**SALE, "at": at, "http_status": 500} for at in places))
    assert audited(facts) == {"R4": (2, 7), "R8": (0, 7), "R9": (1, 7)}


def test_a_newly_signed_retry_cures_a_stale_signature() -> None:
    stale = {**SALE, "http_status": 400, "error_code": "POSTBACK_STALE_TIMESTAMP", "signature_hash": "s1"}
    fresh = {**SALE, "at": 1_000, "signature_hash": "s2"}
    judged = audited(postbacks(stale, fresh))
    assert (judged["R8"], judged["R11"]) == ((0, 1), (0, 1))
    assert audited(postbacks(stale, {**fresh, "signature_hash": "s1"}))["R11"] == (1, 1)
    assert "R11" not in audited(postbacks(SALE | {"http_status": 500}, fresh))


@pytest.mark.parametrize(
    ("following", "word"),
    [(8_999, "early"), (9_000, "on_time"), (20_000, "on_time"), (20_001, "late"), (None, "pending")],
)
def test_borders_of_retry_after(following: int | None, word: str) -> None:
    limited = {"http_status": 429, "retry_after": "10"}
    after = [] if following is None else [{"at": following}]
    (row,) = reference.table("retry_after", postbacks(limited, *after))
    assert [name for name in ("early", "on_time", "late", "never", "pending") if row[name]] == [word]
    assert row["wasted"] == (word == "early")


def test_a_429_that_nobody_followed_is_never_once_the_data_go_on() -> None:
    limited = {"http_status": 429, "retry_after": "0"}
    for elsewhere, word in ((1_000, "pending"), (1_001, "never")):
        rows = reference.table("retry_after", postbacks(limited, {"at": elsewhere, "key_id": "other"}))
        assert [row[word] for row in rows] == [1]
        assert audited(postbacks(limited, {"at": elsewhere, "key_id": "other"})).get("R10") == (
            (0, 1) if word == "never" else None
        )


def test_a_wait_runs_from_the_answer_and_a_date_is_what_it_says() -> None:
    limited = {"auction_id": "B", "http_status": 429, "retry_after": "Mon, 14 Sep 2026 00:00:10 GMT", "latency_ms": 500}
    for at, early in ((8_999, 1), (9_000, 0)):
        (row,) = reference.table("retry_after", attempts(limited, {"at": at, "http_status": 204}))
        assert (row["early"], row["on_time"]) == (early, 1 - early)


def test_windows_have_the_logged_length_and_limit() -> None:
    facts = postbacks(
        {"at": 0, "window_s": 10, "limit": 2},
        {"at": 9_999, "http_status": 429},
        {"at": 10_000},
        {"at": 0, "endpoint": "/r/x", "client_hash": "h"},
    )
    rows = [tuple(row.values()) for row in reference.table("windows", facts)]
    assert rows == [
        ("h", "/r/x", "2026-09-14T00:00:00.000000Z", 60, 1, 0, None, None),
        ("k", None, "2026-09-14T00:00:00.000000Z", 10, 2, 1, 2, 1.0),
        ("k", None, "2026-09-14T00:00:10.000000Z", 10, 1, 0, 600, 1 / 600),
    ]


@pytest.mark.parametrize(
    ("events", "state", "retries", "seconds"),
    [
        ([{}], "accepted_first", 0, 0),
        ([{"http_status": 429}, {"at": 24_000}], "accepted_after_retry", 1, 24),
        ([{"duplicate": True}], "accepted_earlier", None, None),
        ([{"http_status": 500}], "pending", None, None),
        ([{"http_status": 500}, {"at": 86_399_999, "external_order_id": "z"}], "pending", None, None),
        ([{"http_status": 500}, {"at": 86_400_000, "external_order_id": "z"}], "lost", None, None),
    ],
)
def test_states_of_an_order(events: Events, state: str, retries: int | None, seconds: float | None) -> None:
    row = reference.table("orders", postbacks(*(SALE | event for event in events)))[0]
    assert (row["state"], row["retries_to_accept"], row["seconds_to_accept"]) == (state, retries, seconds)


@pytest.mark.parametrize(
    ("events", "faults"),
    [
        ([{"conversion_id": 1}, {"conversion_id": 2, "duplicate": True}], ["double_count"]),
        ([{"conversion_id": 1}, {"conversion_id": 1, "duplicate": True}], []),
        ([{"conversion_id": 1}, {"conversion_id": 1, "idempotent_replay": True}], []),
        ([{"conversion_id": 1}, {"conversion_id": 1}], ["unmarked_duplicate"]),
        ([{"amount": 1}, {"amount": "1.00", "http_status": 500}], []),
        ([{"amount": 1}, {"amount": 2, "http_status": 500}], ["reused_id"]),
        ([{"amount": 1, "currency": "USD"}, {"amount": 1, "currency": "EUR"}], ["reused_id"]),
        ([{"amount": 1, "currency": "USD"}, {"amount": 1}], []),
        ([{"body_hash": "x"}, {"body_hash": "y"}], ["reused_id"]),
        ([{"body_hash": "x", "amount": 1}, {"body_hash": "y", "amount": 1}], []),
        ([{"body_hash": "x", "idempotency_key": "i"}, {"body_hash": "x", "idempotency_key": "i"}], []),
        (
            [{"body_hash": "x", "idempotency_key": "i"}, {"body_hash": "y", "idempotency_key": "i"}],
            ["key_reuse", "reused_id"],
        ),
    ],
)
def test_faults_of_an_order(events: Events, faults: list[str]) -> None:
    facts = postbacks(*(SALE | {"at": number} | event for number, event in enumerate(events)))
    assert [row["fault"] for row in reference.table("order_faults", facts)] == faults
    assert reference.table("orders", facts)[0]["faults"] == faults


def test_a_reused_key_is_filed_under_the_first_request_that_differs() -> None:
    used = [{"external_order_id": "o1", "body_hash": "x"}, {"external_order_id": "o2", "body_hash": "y"}, {}]
    facts = postbacks(*({"at": at, "idempotency_key": "i", **event} for at, event in enumerate(used)))
    (row,) = reference.table("order_faults", facts)
    assert (row["fault"], row["tenant"], row["external_order_id"]) == ("key_reuse", "k", "o2")


@pytest.mark.parametrize(
    ("events", "stale", "replayed"),
    [
        ([{}], None, None),
        ([{"x_at": -300_000}, {"at": 1, "x_at": 300_002}], 1, None),
        ([{"http_status": 400, "error_code": "POSTBACK_STALE_TIMESTAMP"}], 1, 0),
        ([{"signature_hash": "s"}, {"at": 600_000, "signature_hash": "s"}], None, 1),
        ([{"signature_hash": "s"}, {"at": 600_001, "signature_hash": "s"}], None, 0),
        ([{"signature_hash": "s", "http_status": 429}, {"at": 1, "signature_hash": "s"}], None, 0),
        ([{"signature_hash": "s"}, {"at": 1, "signature_hash": "s", "error_code": "POSTBACK_REPLAY"}], 0, 1),
    ],
)
def test_signatures(events: Events, stale: int | None, replayed: int | None) -> None:
    (row,) = reference.table("signatures", postbacks(*events))
    assert (row["stale"], row["replayed"]) == (stale, replayed)


def test_skew_is_absolute_and_by_nearest_rank() -> None:
    (row,) = reference.table("signatures", postbacks(*({"at": at, "x_at": 0} for at in (-4_000, 1_000, 2_500)), {}))
    assert (row["requests"], row["skew_p50_s"], row["skew_p99_s"]) == (4, 2.5, 4.0)


def each_second(*statuses: int | None) -> reference.Facts:
    return attempts(
        *(
            {"auction_id": str(second), "at": second * 1_000, "http_status": status}
            for second, status in enumerate(statuses)
            if status is not None
        )
    )


def expected(facts: reference.Facts, limits: Limits | None = None, **filters: Any) -> list[tuple[Any, ...]]:
    model = reference.read(facts, limits and {None: limits})
    return [
        (row["state"], *(row[end] and row[end][14:19] for end in ("from", "to")), row["attempts"], row["blocked"])
        for row in reference.table("breakers", model, **filters)
        if row["kind"] == "expected"
    ]


def test_the_twentieth_attempt_opens_and_the_first_after_30_s_is_the_probe() -> None:
    facts = each_second(*[204] * 10, *[503] * 15, *[None] * 24, 204, 204)
    assert expected(facts) == [
        ("closed", "00:00", "00:19", 20, 0),
        ("open", "00:19", "00:49", 5, 5),
        ("half_open", "00:49", "00:49", 1, 0),
        ("closed", "00:49", None, 1, 0),
    ]
    assert expected(each_second(*[204] * 11, *[503] * 10)) == [("closed", "00:00", None, 21, 0)]


def test_a_probe_that_fails_opens_again_and_one_that_nobody_sent_is_awaited() -> None:
    limits = Limits(min_attempts=2, open_s=2)
    assert expected(each_second(503, 503, None, None, 503), limits) == [
        ("closed", "00:00", "00:01", 2, 0),
        ("open", "00:01", "00:03", 0, 0),
        ("half_open", "00:03", "00:04", 1, 0),
        ("open", "00:04", None, 0, 0),
    ]
    elsewhere = {"partner": "q", "at": 3_000, "http_status": 204}
    facts = attempts({"http_status": 503}, {"at": 1_000, "http_status": 503}, elsewhere)
    assert expected(facts, limits, partners=["p"])[1:] == [
        ("open", "00:01", "00:03", 0, 0),
        ("half_open", "00:03", None, 0, 0),
    ]


def test_the_window_of_the_breaker_is_open_at_its_old_end() -> None:
    limits = Limits(window_s=2, min_attempts=3)
    assert len(expected(each_second(503, 503, 503), limits)) == 1
    assert len(expected(each_second(503, 503, 503), Limits(window_s=3, min_attempts=3))) == 2


def test_delays_run_from_answer_to_request() -> None:
    facts = attempts(
        {"http_status": 503, "latency_ms": 30},
        {"at": 80, "http_status": 429, "retry_after": 1},
        {"at": 1_080, "http_status": 204, "backoff_ms": 900},
    )
    found = [(delay.number, delay.delay_us, delay.told) for delay in delays(reference.read(facts))]
    assert found == [(1, 50_000, False), (2, 900_000, True)]
