"""Bidder calls with their OpenRTB request and response: given these lines, those attempts."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from ingest.rows.split import Splitter
from tests.foreign_log import Row, guessed, read, read_by_engine

ABSENT = object()
BID = {"id": "q-1", "cur": "EUR", "seatbid": [{"bid": [{"id": "1", "impid": "1", "price": 1.25}]}]}
LINE: dict[str, Any] = {
    "ts": "2026-09-14T11:00:00.010Z",
    "partner": "d1",
    "request": {"id": "q-1", "tmax": 120, "imp": [{"id": "1"}, {"id": "2"}]},
    "response": BID,
    "status": 200,
    "latency_ms": 40.5,
    "error": None,
    "attempt": 2,
}


def line(**values: Any) -> str:
    return json.dumps({key: value for key, value in (LINE | values).items() if value is not ABSENT}) + "\n"


def attempt(**values: Any) -> Row:
    (row,) = read("openrtb", line(**values)).rows["attempts"]
    return row


def test_a_line_is_an_attempt() -> None:
    row = attempt()
    assert (row["ts"], row["partner"]) == (datetime(2026, 9, 14, 11, 0, 0, 10_000), "d1")
    assert (row["auction_id"], row["request_id"], row["attempt"]) == ("q-1", "q-1", 2)
    assert (row["tmax_ms"], row["latency_ms"], row["http_status"]) == (120.0, 40.5, 200)
    assert (row["outcome"], row["bids"], row["price"], row["currency"]) == ("bid", 1, Decimal("1.25"), "EUR")
    assert (row["budget_ms"], row["breaker"], row["last_only"], row["attempt_count"]) == (None,) * 4


def test_its_request_tells_the_impressions_for_sale() -> None:
    """But not the auction's own time: a retry is sent with less of it."""
    (row,) = read("openrtb", line()).rows["auctions"]
    assert (row["auction_id"], row["imps"], row["tmax_ms"], row["http_status"]) == ("q-1", 2, None, None)
    kinds: list[Any] = [None, "[x", 5, {}]
    for imps in kinds:
        loaded = read("openrtb", line(request={"id": "q-1", "imp": imps}))
        assert [row["imps"] for row in loaded.rows["auctions"]] in ([], [None])


@pytest.mark.parametrize(
    "response, outcome, reason",
    [
        (BID, "bid", None),
        (json.dumps(BID), "bid", None),
        ({}, "no_bid", "no_reason"),
        ("", "no_bid", "no_reason"),
        ("{}", "no_bid", "no_reason"),
        ({"nbr": 2}, "no_bid", "2"),
        ('{"id":"q-1","nbr":"8"}', "no_bid", "8"),
        ({"seatbid": None, "nbr": 0}, "no_bid", "0"),
        (BID | {"nbr": 2}, "bid", None),
        ({"seatbid": [{"bid": [{"price": 0}]}]}, "invalid_response", None),
        ({"seatbid": [{"bid": [{"price": 0, "dealid": "x"}]}]}, "bid", None),
        ({"seatbid": {}}, "invalid_response", None),
        ("<html>", "invalid_response", None),
        (json.dumps(BID)[:30], "invalid_response", None),
        (5, "invalid_response", None),
        (True, "invalid_response", None),
        ([], "invalid_response", None),
        (None, "answered_unknown", None),
        (ABSENT, "answered_unknown", None),
    ],
)
def test_the_response_decides(response: Any, outcome: str, reason: str | None) -> None:
    row = attempt(response=response)
    assert (row["outcome"], row["reason"]) == (outcome, reason)


@pytest.mark.parametrize(
    "status, response, error, outcome",
    [
        (204, None, None, "no_bid"),
        (204, "", None, "no_bid"),
        ("204", BID, None, "no_bid"),
        (503, "Service Unavailable", None, "server_error"),
        (503, None, "", "server_error"),
        (429, None, None, "rate_limited"),
        (404, {}, None, "client_error"),
        (302, None, None, "unexpected_status"),
        (0, None, "context deadline exceeded", "timeout"),
        (0, "", "dial tcp 192.0.2.9:443: connect: connection refused", "connect_error"),
        (0, None, "read: connection reset by peer", "reset"),
        (0, None, "x509: certificate signed by unknown authority", "tls_error"),
        (0, None, "cancelled", "cancelled"),
        (0, None, "boom", "unknown_error"),
        (0, None, None, "unknown_error"),
        (None, None, None, "unknown_error"),
        (ABSENT, None, "timeout", "timeout"),
        (200, BID, "timeout", "timeout"),
    ],
)
def test_statuses_and_errors(status: Any, response: Any, error: Any, outcome: str) -> None:
    row = attempt(status=status, response=response, error=error)
    assert row["outcome"] == outcome
    assert row["http_status"] == (int(status) if status not in (0, None, ABSENT) else None)


def test_a_log_without_statuses_still_has_answers() -> None:
    assert attempt(status=ABSENT)["outcome"] == "bid"
    assert attempt(status=ABSENT, response={"nbr": 2})["outcome"] == "no_bid"
    assert attempt(status=ABSENT, response=None)["outcome"] == "unknown_error"
    assert attempt(status=ABSENT, error="timeout")["outcome"] == "timeout"


def test_ids_keep_their_text() -> None:
    assert attempt(request={"id": 18446744073709551617})["auction_id"] == "18446744073709551617"
    assert attempt(request={"id": " 007 "})["auction_id"] == " 007 "


def test_retries_are_lines_of_their_own() -> None:
    log = line(status=503, response=None, attempt=1) + line(attempt=2) + line(attempt=ABSENT)
    rows = read("openrtb", log).rows["attempts"]
    assert [(row["attempt"], row["outcome"]) for row in rows] == [(1, "server_error"), (2, "bid"), (None, "bid")]


def test_values_that_do_not_cast_are_mended() -> None:
    loaded = read("openrtb", line(status="ok", latency_ms=-1, attempt=1.5))
    assert dict(loaded.counts.mended) == {"http_status": 1, "latency_ms": 1, "attempt": 1}
    assert loaded.rows["attempts"][0]["attempt"] is None


def test_half_matching_lines_are_rejects_with_the_part() -> None:
    lines = [line(request=None), line(request="text"), line(ts=None), line(request={"imp": []}), line()[:70] + "\n"]
    loaded = read("openrtb", "".join(lines))
    assert loaded.reasons[:4] == [
        "attempt: auction_id is missing",
        "attempt: auction_id is missing",
        "attempt: ts is missing",
        "attempt: auction_id is missing",
    ]
    assert loaded.reasons[4].startswith("no JSON")
    assert read("openrtb", line(ts="2026-09-14T11:00:00")).reasons[0].startswith("attempt: ts has no offset")


def test_an_attempt_without_partner_leaves_the_auction() -> None:
    loaded = read("openrtb", line(partner=""))
    assert (loaded.rows["attempts"], dict(loaded.counts.mended)) == ([], {"attempt": 1})
    assert [row["imps"] for row in loaded.rows["auctions"]] == [2]


def test_personal_values_are_never_stored() -> None:
    request = {
        "id": "q-1",
        "device": {"ip": "192.0.2.9", "ifa": "SENTINEL"},
        "user": {"id": "SENTINEL"},
        "site": {"page": "https://p.example/?u=SENTINEL"},
    }
    response = {"seatbid": [{"bid": [{"price": 1, "adm": "SENTINEL", "nurl": "https://d.example/?u=SENTINEL"}]}]}
    error = 'Post "https://192.0.2.9/b?ifa=SENTINEL": EOF'
    whole = line(request=request, response=response)
    log = whole + line(request=request, error=error, status=0) + line(request=request, ts=None) + whole[:-20] + "\n"
    loaded = read("openrtb", log + line(request=request, response="SENTINEL 192.0.2.9"))
    assert (loaded.counts.facts, loaded.counts.rejects) == (3, 2)
    assert not [value for value in ("SENTINEL", "192.0.2") if value in loaded.kept()]


def test_recognition() -> None:
    assert guessed(line()) == "openrtb"
    assert guessed(line(response=ABSENT)) == guessed(line(status=ABSENT, attempt=ABSENT)) == "openrtb"


def test_long_logs_stay_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [BID, "", None, {"nbr": 2}, json.dumps(BID), "<html>"]
    log = "".join(
        line(request=LINE["request"] | {"id": f"q-{n}"}, response=some[n % 6], status=204 if n % 6 == 2 else 200)
        for n in range(600)
    )
    whole = read("openrtb", log)
    assert [row["auction_id"] for row in whole.rows["attempts"]] == [f"q-{n}" for n in range(600)]
    monkeypatch.setattr(Splitter, "split", None)
    assert read_by_engine("openrtb", log).counts == whole.counts
