"""The tables of limits and orders: given these lines, that table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard import tables
from dashboard.filters import Filters, make_filters, utc
from dashboard.output import render
from dashboard.snapshot import Snapshot, open_snapshot
from dashboard.text import Format
from ingest.load import ingest
from tests.loaded import Event, attempt, opened, postback

pytestmark = pytest.mark.slow

BASE = 1_789_383_600_000_000
DAY = 86_400
PATH = "/api/v1/postback"


def us(second: float) -> int:
    return BASE + round(second * 1_000_000)


def at(second: float) -> str:
    """An instant so many seconds after the base, which may be days."""
    return f"{utc(us(second)).isoformat()}Z"


def rows(snapshot: Snapshot, name: str, **filters: Any) -> list[dict[str, Any]]:
    return tables.rows(snapshot, name, Filters(**filters))


def refusal(second: int, key: str = "k", told: str | None = "10", **values: Any) -> Event:
    return postback(at(second), key, http_status=429, retry_after=told, endpoint=PATH, **values)


def sent(second: float, key: str = "k", **values: Any) -> Event:
    return postback(at(second), key, endpoint=PATH, **values)


# Windows


def windows(snapshot: Snapshot, **filters: Any) -> list[tuple[Any, ...]]:
    """Key, second of the window's begin, its length, requests, limited, limit of each window."""
    return [
        (row["key"], (row["window_start"] - utc(BASE)).total_seconds(), row["window_s"], row["requests"],
         row["limited"], row["limit"])
        for row in rows(snapshot, "windows", **filters)
    ]  # fmt: skip


def test_a_window_counts_refused_requests_too(tmp_path: Path) -> None:
    events = [refusal(0), sent(59.999999), sent(60), postback(at(61), "other", endpoint=PATH)]
    assert windows(opened(tmp_path, events)) == [
        ("k", 0, 60, 2, 1, 600),
        ("k", 60, 60, 1, 0, 600),
        ("other", 60, 60, 1, 0, 600),
    ]


@pytest.mark.parametrize(
    ("endpoint", "limit", "utilisation"),
    [
        ("/api/v1/exchange/bids", 20, 0.05),
        ("/r/abc", None, None),
        ("/p/abc", None, None),
        (PATH, 600, 1 / 600),
        (None, 600, 1 / 600),
    ],
)
def test_the_usual_limit_is_that_of_the_endpoint(
    tmp_path: Path, endpoint: str | None, limit: int | None, utilisation: float | None
) -> None:
    [row] = rows(opened(tmp_path, [postback(at(0), endpoint=endpoint)]), "windows")
    assert (row["endpoint"], row["limit"], row["utilisation"]) == (endpoint, limit, utilisation)


def test_the_largest_logged_limit_of_a_window_is_its_own(tmp_path: Path) -> None:
    events = [sent(0, limit=2), sent(1, limit=4), sent(2), sent(3), sent(4), sent(60)]
    snapshot = opened(tmp_path, events)
    assert [(row["limit"], row["utilisation"]) for row in rows(snapshot, "windows")] == [(4, 1.25), (600, 1 / 600)]


def test_a_limit_of_nothing_has_no_utilisation(tmp_path: Path) -> None:
    [row] = rows(opened(tmp_path, [sent(0, limit=0)]), "windows")
    assert (row["limit"], row["utilisation"]) == (0, None)


def test_a_window_is_as_long_as_its_request_says_else_the_longest_of_key_and_endpoint(tmp_path: Path) -> None:
    events = [
        sent(0, window_s=30),
        sent(3600, window_s=120),
        sent(100),
        sent(100, "other"),
        sent(200, "zero", window_s=0),
        postback(at(100), "k", endpoint="/elsewhere"),
    ]
    found = {(key, start, length) for key, start, length, *_ in windows(opened(tmp_path, events))}
    assert found == {
        ("k", 0, 30), ("k", 3600, 120), ("k", 0, 120), ("other", 60, 60), ("zero", 180, 60), ("k", 60, 60),
    }  # fmt: skip


def test_limits_of_exchange_and_links_are_per_client_where_one_is_logged(tmp_path: Path) -> None:
    client = "ab" * 32
    events = [
        postback(at(0), "k1", endpoint="/r/1", client_hash=client),
        postback(at(1), "k2", endpoint="/r/1", client_hash=client),
        postback(at(2), "k3", endpoint="/r/1"),
        postback(at(3), "k1", endpoint=PATH, client_hash=client),
    ]
    snapshot = opened(tmp_path, events)
    shared = snapshot.query("select distinct client_hash from postbacks where client_hash is not null")[0][0]
    found = {(row["key"], row["endpoint"], row["requests"]) for row in rows(snapshot, "windows")}
    assert found == {(shared, "/r/1", 2), ("k3", "/r/1", 1), ("k1", PATH, 1)}


def test_a_window_is_kept_whole_by_its_begin(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [sent(0), sent(59), sent(60), sent(119, limit=9)])
    assert windows(snapshot, frm_us=us(1)) == [("k", 60, 60, 2, 0, 9)]
    assert windows(snapshot, frm_us=us(60), to_us=us(60.000001)) == [("k", 60, 60, 2, 0, 9)]
    assert windows(snapshot, to_us=us(60)) == [("k", 0, 60, 2, 0, 600)]


def test_a_long_window_is_whole_though_the_range_and_its_files_end(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [sent(0, window_s=7 * DAY), sent(2 * DAY, window_s=7 * DAY)])
    [(_, start, *_)] = windows(snapshot)
    assert windows(snapshot, frm_us=us(start), to_us=us(start + 1)) == [("k", start, 7 * DAY, 2, 0, 600)]


def test_a_window_longer_than_all_time_is_one(tmp_path: Path) -> None:
    [row] = rows(opened(tmp_path, [sent(0, window_s=2**63 - 1), sent(DAY, window_s=2**63 - 1)]), "windows")
    assert (row["window_start"].year, row["requests"], row["window_s"]) == (1970, 2, 2**63 - 1)


def test_windows_of_a_partner_are_those_with_a_request_of_it_and_whole(tmp_path: Path) -> None:
    client = "cd" * 32
    events = [
        postback(at(0), "k1", endpoint="/r/1", client_hash=client),
        postback(at(1), "k2", endpoint="/r/1", client_hash=client),
        sent(2, "k2"),
    ]
    snapshot = opened(tmp_path, events)
    assert [row["requests"] for row in rows(snapshot, "windows", partners=("k1",))] == [2]
    assert len(rows(snapshot, "windows", partners=("k2",))) == 2


def test_windows_by_time_add_up_to_the_table(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [sent(second) for second in (0, 10, 60, 3599, 3600, 7300)])
    whole = sum(row["requests"] for row in rows(snapshot, "windows"))
    for bucket in ("minute", "hour", "day"):
        assert sum(row["requests"] for row in tables.series(snapshot, "windows", bucket=bucket)) == whole


# Retry-After

VERDICTS = ("early", "on_time", "late", "never", "pending")


def verdict(row: dict[str, Any]) -> str | None:
    assert sum(row[name] for name in VERDICTS) == row["with_retry_after"] <= row["limited"]
    return next((name for name in VERDICTS if row[name]), None)


@pytest.mark.parametrize(
    ("told", "next_at", "expected", "wasted"),
    [
        ("10", 8.999999, "early", 1),
        ("10", 9, "on_time", 0),
        ("10", 20, "on_time", 0),
        ("10", 20.000001, "late", 0),
        ("0", 0.000001, "on_time", 0),
        ("0", 1, "on_time", 0),
        ("0", 1.000001, "late", 0),
        ("1", 2, "on_time", 0),
        ("Mon, 14 Sep 2026 11:00:30 GMT", 28, "early", 1),
        ("-3", 1, None, 0),
        ("1.5", 1, None, 0),
        ("soon", 1, None, 0),
        (None, 1, None, 0),
    ],
)
def test_the_next_request_tells_how_retry_after_was_followed(
    tmp_path: Path, told: str | None, next_at: float, expected: str | None, wasted: int
) -> None:
    snapshot = opened(tmp_path, [refusal(0, told=told), sent(next_at), sent(4000, "other")])
    [row] = rows(snapshot, "retry_after")
    assert (row["stream"], row["key"], row["endpoint"], row["limited"]) == ("postback", "k", PATH, 1)
    assert (verdict(row), row["wasted"]) == (expected, wasted)


def test_retry_after_runs_from_the_answer(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [refusal(0, latency_ms=500), sent(9.4)])
    assert verdict(rows(snapshot, "retry_after")[0]) == "early"


def test_without_a_next_request_it_is_never_once_the_data_go_on_long_enough(tmp_path: Path) -> None:
    for place, (newest, expected) in enumerate([(20, "pending"), (20.000001, "never")]):
        folder = tmp_path / str(place)
        folder.mkdir()
        assert verdict(rows(opened(folder, [refusal(0), sent(newest, "other")]), "retry_after")[0]) == expected


def test_each_stream_goes_on_by_its_own_data(tmp_path: Path) -> None:
    throttled = attempt(at(0), "A", "dsp", http_status=429, retry_after="10")
    snapshot = opened(tmp_path, [throttled, sent(4000)])
    [row] = rows(snapshot, "retry_after")
    assert (row["stream"], row["key"], row["endpoint"], verdict(row)) == ("exchange", "dsp", None, "pending")


def test_a_wasted_request_counts_once_however_many_waits_it_falls_into(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [refusal(0), refusal(1), sent(2), sent(60)])
    [row] = rows(snapshot, "retry_after")
    assert (row["limited"], row["early"], row["wasted"]) == (2, 2, 2)


def test_filters_of_retry_after_choose_rows_and_change_no_verdict(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [refusal(0), sent(5), refusal(4000, "b"), sent(4005, "b"), sent(9000, "c")])
    [row] = rows(snapshot, "retry_after", to_us=us(1))
    assert (row["key"], verdict(row), row["wasted"]) == ("k", "early", 0)
    [row] = rows(snapshot, "retry_after", frm_us=us(1), to_us=us(10))
    assert (row["key"], row["limited"], row["wasted"]) == ("k", 0, 1)
    assert [row["key"] for row in rows(snapshot, "retry_after", partners=("b",))] == ["b"]


def test_waits_by_share_of_retry_after_leave_out_what_has_none(tmp_path: Path) -> None:
    events = [refusal(0), sent(5), refusal(100, "b"), sent(110, "b"), refusal(200, "c"), sent(900, "c")]
    snapshot = opened(tmp_path, [*events, refusal(300, "d", told="0"), sent(300.5, "d"), refusal(400, "e")])
    found = {
        row["from_share"]: told
        for row in tables.rows(snapshot, "throttle_delays")
        if any(told := (row["early"], row["on_time"], row["late"]))
    }
    assert found == {0.5: (1, 0, 0), 1: (0, 1, 0), 10: (0, 0, 1)}


# Orders

REFUSED: Event = {"http_status": 500}


def order(second: float, name: str = "O", key: str = "k", **values: Any) -> Event:
    return sent(second, key, external_order_id=name, event_type="sale") | values


def ledger(snapshot: Snapshot, **filters: Any) -> dict[str, dict[str, Any]]:
    return {row["external_order_id"]: row for row in rows(snapshot, "orders", **filters)}


def test_state_of_an_order_is_judged_on_all_data(tmp_path: Path) -> None:
    events = [
        order(0, "first", conversion_id="1"),
        order(0, "retried", **REFUSED), order(30, "retried", conversion_id="2"),
        order(0, "earlier", **REFUSED), order(9, "earlier", duplicate=True, conversion_id="3"),
        order(0, "lost", **REFUSED),
        order(0.000001, "pending", **REFUSED),
        order(DAY, "last", **REFUSED),
    ]  # fmt: skip
    found = ledger(opened(tmp_path, events), to_us=us(1))
    assert {
        name: (row["state"], row["retries_to_accept"], row["seconds_to_accept"]) for name, row in found.items()
    } == {
        "first": ("accepted_first", 0, 0),
        "retried": ("accepted_after_retry", 1, 30),
        "earlier": ("accepted_earlier", None, None),
        "lost": ("lost", None, None),
        "pending": ("pending", None, None),
    }


def test_an_order_counts_all_its_requests_and_its_accepted_duplicates(tmp_path: Path) -> None:
    events = [
        order(0, **REFUSED), order(1, conversion_id="9"), order(2, conversion_id="9", duplicate=True),
        order(3, conversion_id="8", duplicate=True), order(4, http_status=409, duplicate=True),
    ]  # fmt: skip
    [row] = rows(opened(tmp_path, events), "orders")
    assert (row["requests"], row["duplicates"], row["conversion_ids"]) == (5, 2, ["8", "9"])


def test_the_tenant_of_an_order_is_the_key_where_unknown(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [order(0, tenant="t", key="a"), order(1, key="b"), order(2, tenant="t", key="c")])
    assert [(row["tenant"], row["requests"]) for row in rows(snapshot, "orders")] == [("t", 2), ("b", 1)]
    assert [row["tenant"] for row in rows(snapshot, "orders", partners=("a",))] == ["t"]
    assert rows(snapshot, "orders", partners=("c",)) == []


def test_orders_lie_at_their_first_postback(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [order(0, **REFUSED), order(100)])
    assert rows(snapshot, "orders", frm_us=us(1)) == []
    assert [row["state"] for row in rows(snapshot, "orders", to_us=us(1))] == ["accepted_after_retry"]


def test_orders_are_cut_at_the_limit(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [order(number, f"O{number}") for number in range(1_001)])
    found = tables.fetch(snapshot, "orders")
    assert (len(found.values), found.cut) == (1_000, True)
    assert [row["external_order_id"] for row in tables.rows(snapshot, "orders", make_filters(limit=2))] == ["O0", "O1"]


def test_lists_are_json_lists_and_joined_in_csv(tmp_path: Path) -> None:
    events = [order(0, conversion_id="2", amount=1), order(1, conversion_id="1", amount=2)]
    snapshot = opened(tmp_path, events)
    [row] = json.loads(render(tables.fetch(snapshot, "orders"), Format.JSON))
    assert (row["conversion_ids"], row["faults"]) == (["1", "2"], ["double_count", "reused_id"])
    [_, line] = tables.Lines(snapshot, "orders", Filters())
    assert line.endswith(",1;2,0,double_count;reused_id")


FAULTS = {
    "double_count": [order(0, conversion_id="1"), order(1, conversion_id="2")],
    "reused_id": [order(0, conversion_id="1", amount=5), order(1, conversion_id="1", duplicate=True, amount=6)],
    "unmarked_duplicate": [order(0, conversion_id="1"), order(1, conversion_id="1")],
    "key_reuse": [
        order(0, **REFUSED, idempotency_key="I", body_hash="x"),
        order(1, idempotency_key="I", body_hash="y", amount=1),
    ],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_order_and_detail(tmp_path: Path, fault: str) -> None:
    snapshot = opened(tmp_path, FAULTS[fault])
    [row] = rows(snapshot, "order_faults")
    assert (row["fault"], row["tenant"], row["event_type"], row["external_order_id"]) == (fault, "k", "sale", "O")
    assert row["detail"]
    assert [found["faults"] for found in rows(snapshot, "orders")] == [[fault]]
    assert rows(snapshot, "order_faults", frm_us=us(0.5)) == []
    assert rows(snapshot, "order_faults", partners=("nobody",)) == []


def test_reuse_of_a_key_is_filed_under_the_order_of_the_first_differing_request(tmp_path: Path) -> None:
    use: Event = {"idempotency_key": "I", "amount": 1}
    snapshot = opened(tmp_path, [
        order(0, "A", body_hash="x", **use), order(1, "B", body_hash="x", **use), order(2, "C", body_hash="y", **use),
        order(3, "D", body_hash="z", **use), order(4, "E", key="other", body_hash="q", **use),
    ])  # fmt: skip
    [row] = rows(snapshot, "order_faults")
    assert (row["external_order_id"], "I" in row["detail"]) == ("C", True)


def test_an_order_has_a_kind_of_fault_once(tmp_path: Path) -> None:
    events = [
        order(0, **REFUSED, idempotency_key=name, body_hash="x") for name in ("I1", "I2")
    ] + [order(1, **REFUSED, idempotency_key=name, body_hash="y", amount=1) for name in ("I1", "I2")]  # fmt: skip
    [row] = rows(opened(tmp_path, events), "order_faults")
    assert row["detail"] == "idempotency keys I1 and I2 with another body"


def test_reuse_without_an_order_lies_at_its_own_time(tmp_path: Path) -> None:
    use: Event = {"idempotency_key": "I", "event_type": "sale"}
    snapshot = opened(tmp_path, [sent(0, body_hash="x", **use), sent(100, body_hash="y", tenant="t", **use)])
    [row] = rows(snapshot, "order_faults", frm_us=us(100), to_us=us(101), partners=("k",))
    assert (row["fault"], row["tenant"], row["event_type"], row["external_order_id"]) == (
        "key_reuse",
        "t",
        "sale",
        None,
    )
    assert rows(snapshot, "order_faults", to_us=us(100)) == []
    assert rows(snapshot, "orders") == []


# Signatures


def signed(second: float, off: float, **values: Any) -> Event:
    return sent(second, x_timestamp=at(second - off)) | values


def signatures(snapshot: Snapshot, **filters: Any) -> list[tuple[Any, ...]]:
    return [
        (row["key"], row["requests"], row["stale"], row["replayed"]) for row in rows(snapshot, "signatures", **filters)
    ]


def test_stale_is_more_than_300_s_off_whichever_way_or_what_the_code_says(tmp_path: Path) -> None:
    events = [
        signed(1000, 300), signed(1001, -300), signed(1002, 301), signed(1003, -301),
        signed(1004, 0, error_code="POSTBACK_STALE_TIMESTAMP", http_status=400), sent(1005),
    ]  # fmt: skip
    assert signatures(opened(tmp_path, events)) == [("k", 6, 3, 0)]


def test_replayed_is_a_signature_used_within_600_s_of_its_first_use_that_was_no_429(tmp_path: Path) -> None:
    events = [
        sent(0, signature_hash="s", http_status=429), sent(10, signature_hash="s"), sent(610, signature_hash="s"),
        sent(610.000001, signature_hash="s"), sent(20, "other", signature_hash="s"),
        sent(30, signature_hash="u", error_code="POSTBACK_REPLAY", http_status=409),
        sent(31, signature_hash="s", error_code="POSTBACK_REPLAY", http_status=409),
    ]  # fmt: skip
    snapshot = opened(tmp_path, events)
    assert signatures(snapshot) == [("k", 6, 0, 3), ("other", 1, 0, 0)]
    assert signatures(snapshot, frm_us=us(600), partners=("k",)) == [("k", 2, 0, 1)]


def test_skew_is_told_by_nearest_rank(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [signed(1000 + number, number) for number in range(1, 101)] + [sent(5000)])
    [row] = rows(snapshot, "signatures")
    assert (row["skew_p50_s"], row["skew_p99_s"]) == (50, 99)
    [row] = rows(snapshot, "signatures", to_us=us(1003))
    assert (row["skew_p50_s"], row["skew_p99_s"]) == (1, 2)
    [row] = rows(snapshot, "signatures", frm_us=us(4000))
    assert (row["stale"], row["skew_p50_s"], row["skew_p99_s"]) == (0, None, None)


def test_what_the_log_never_had_is_unknown(tmp_path: Path) -> None:
    assert signatures(opened(tmp_path, [sent(0)])) == [("k", 1, None, None)]


def test_later_data_of_the_same_order_change_its_row(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [order(0, **REFUSED), order(2 * DAY, "other")])
    assert ledger(snapshot)["O"]["state"] == "lost"
    late = tmp_path / "late.jsonl"
    late.write_text(json.dumps(order(3 * DAY)) + "\n")
    ingest([str(late)], tmp_path / "warehouse")
    found = ledger(open_snapshot(tmp_path / "warehouse"))["O"]
    assert (found["state"], found["seconds_to_accept"]) == ("accepted_after_retry", 3 * DAY)
