"""Prebid Server's file analytics: given these lines, those auctions, attempts and notices."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from ingest.rows.split import Splitter
from tests.foreign_log import Loaded, Row, guessed, read, read_by_engine

PREFIX = "2026/09/14 14:00:00 DEBUG "
STATUS_TEXT = "Unexpected status code: {}. Run with request.debug = 1 for more info"


def auction(request: Any = None, seats: Any = None, type: str = "/openrtb2/auction", **ext: Any) -> str:
    """A line of an auction with these seats, and this `ext` of its response."""
    answer = "AuctionResponse" if type == "/openrtb2/amp" else "Response"
    line: Row = {
        "type": type,
        "Status": 200,
        "Errors": [],
        "Request": {"id": "a-1", "imp": [{"id": "1"}, {"id": "2"}], "tmax": 300} if request is None else request,
        answer: {"id": "a-1", "cur": "EUR", "seatbid": seats or [], "ext": ext},
        "Account": None,
        "StartTime": "2026-09-14T14:00:00.123456789+03:00",
    }
    return PREFIX + json.dumps(line) + "\n"


def event(**request: Any) -> str:
    return PREFIX + json.dumps({"type": "/event", "request": request, "account": None}) + "\n"


def seat(name: str, *prices: float) -> Row:
    return {"seat": name, "bid": [{"id": f"b{price}", "impid": "1", "price": price} for price in prices]}


def error(*codes: int, message: str = "said") -> list[Row]:
    return [{"code": code, "message": message} for code in codes]


def nonbid(name: str, *codes: int) -> Row:
    return {"seat": name, "nonbid": [{"impid": "1", "statuscode": code} for code in codes]}


def attempts(loaded: Loaded) -> dict[str, Row]:
    """The attempts by partner: there is one each."""
    rows = {row["partner"]: row for row in loaded.rows["attempts"]}
    assert len(rows) == len(loaded.rows["attempts"])
    return rows


def attempt(**ext: Any) -> Row:
    """The only attempt of an auction whose response has this `ext` (`seats` beside it)."""
    (row,) = attempts(read("pbs-go", auction(**ext))).values()
    return row


def test_an_auction_and_its_bidders() -> None:
    times = {"d1": 87, "d2": 241, "d3": 31}
    errors = {"d2": error(1), "d4": error(16)}
    loaded = read("pbs-go", auction(seats=[seat("d1", 1.25, 2.5)], responsetimemillis=times, errors=errors))
    (told,) = loaded.rows["auctions"]
    assert (told["auction_id"], told["tmax_ms"], told["imps"], told["http_status"]) == ("a-1", 300.0, 2, 200)
    rows = attempts(loaded)
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "d1": "bid",
        "d2": "timeout",
        "d3": "no_bid",
        "d4": "not_sent_limit",
    }
    assert {name: row["latency_ms"] for name, row in rows.items()} == {"d1": 87.0, "d2": 241.0, "d3": 31.0, "d4": None}
    assert (rows["d1"]["bids"], rows["d1"]["price"], rows["d1"]["currency"]) == (2, Decimal("2.5"), "EUR")
    for row in [told, *rows.values()]:
        assert row["ts"] == datetime(2026, 9, 14, 11, 0, 0, 123_456)
    for row in rows.values():
        assert (row["auction_id"], row["attempt"], row["http_status"], row["nbr"]) == ("a-1", None, None, None)
        assert (row["last_only"], row["attempt_count"]) == (True, None)
    assert loaded.counts.facts == 1


def test_a_quiet_bidder_declined_for_a_reason_that_nobody_logged() -> None:
    row = attempt(responsetimemillis={"d": 31})
    assert (row["outcome"], row["reason"], row["bids"]) == ("no_bid", "unknown", 0)


@pytest.mark.parametrize(
    "errors, outcome, status, error_type",
    [
        (error(1), "timeout", None, "timeout"),
        (error(4, message=STATUS_TEXT.format(503)), "server_error", 503, None),
        (error(4, message=STATUS_TEXT.format(429)), "rate_limited", 429, None),
        (error(4, message="unexpected status code: 404"), "client_error", 404, None),
        (error(4, message="HTTP status 302 returned"), "unexpected_status", 302, None),
        (error(4, message=STATUS_TEXT.format(200)), "invalid_response", 200, "invalid_response"),
        (error(4, message="invalid character '<' looking for a value"), "invalid_response", None, "invalid_response"),
        (error(4, message="4 bids of 503 bytes"), "invalid_response", None, "invalid_response"),
        (error(999), "unknown_error", None, "pbs_error_999"),
        (error(7, message="timeout reset x509"), "unknown_error", None, "pbs_error_7"),
        ([{"message": "no code"}], "unknown_error", None, "pbs_error_unknown"),
        (error(2, 1), "timeout", None, "timeout"),
    ],
)
def test_errors_by_their_code(errors: list[Row], outcome: str, status: int | None, error_type: str | None) -> None:
    row = attempt(responsetimemillis={"d": 12}, errors={"d": errors})
    assert (row["outcome"], row["http_status"], row["error_type"]) == (outcome, status, error_type)
    assert (row["latency_ms"], row["not_sent"]) == (12.0, None)


@pytest.mark.parametrize("code, why", [(2, "bad_input"), (12, "no_time"), (16, "limit")])
def test_bidders_that_were_never_asked(code: int, why: str) -> None:
    row = attempt(responsetimemillis={"d": 0}, errors={"d": error(code)})
    assert (row["outcome"], row["not_sent"], row["error_type"]) == ("not_sent_limit", why, None)
    assert (row["latency_ms"], row["bids"]) == (None, None)


def test_a_bid_wins_over_the_error_of_a_split_request() -> None:
    row = attempt(seats=[seat("d", 0.5)], responsetimemillis={"d": 300}, errors={"d": error(1)})
    assert (row["outcome"], row["error_type"], row["price"]) == ("bid", None, Decimal("0.5"))


def test_split_requests_are_no_retries() -> None:
    calls = [{"uri": "https://d.example/bid", "status": 204}] * 3
    row = attempt(responsetimemillis={"d": 31}, debug={"httpcalls": {"d": calls}})
    assert (row["outcome"], row["attempt"], row["attempt_count"]) == ("no_bid", None, None)


def test_errors_of_the_auction_are_no_bidders() -> None:
    loaded = read("pbs-go", auction(errors={"prebid": error(999), "general": error(10002), "d": error(1)}))
    assert list(attempts(loaded)) == ["d"]


@pytest.mark.parametrize(
    "codes, outcome, error_type, not_sent, reject",
    [
        ([101], "timeout", "timeout", None, None),
        ([102], "invalid_response", "invalid_response", None, None),
        ([103], "connect_error", "unreachable", None, None),
        ([100], "unknown_error", "pbs_non_bid_100", None, None),
        ([0], "no_bid", None, None, None),
        ([0, 101], "no_bid", None, None, None),
        ([204], "not_sent_limit", None, "blocked", None),
        ([301], "bid", None, None, "below_floor"),
        ([0, 352], "bid", None, None, "creative_not_secure"),
        ([399], "bid", None, None, "rejected_399"),
    ],
)
def test_codes_of_seats_without_bids(
    codes: list[int], outcome: str, error_type: str | None, not_sent: str | None, reject: str | None
) -> None:
    row = attempt(responsetimemillis={"d": 9}, prebid={"seatnonbid": [nonbid("d", *codes)]})
    assert (row["outcome"], row["error_type"], row["not_sent"], row["reject_reason"]) == (
        outcome,
        error_type,
        not_sent,
        reject,
    )
    assert (row["nbr"], row["price"]) == (None, None)


def test_an_error_tells_more_than_such_a_code() -> None:
    unwell = error(4, message=STATUS_TEXT.format(503))
    row = attempt(responsetimemillis={"d": 9}, errors={"d": unwell}, prebid={"seatnonbid": [nonbid("d", 100)]})
    assert row["outcome"] == "server_error"


def test_a_seat_that_was_blocked_before_the_call_shows() -> None:
    nonbids = [nonbid("blocked", 204), nonbid("other-seat", 101)]
    loaded = read("pbs-go", auction(responsetimemillis={"d": 9}, prebid={"seatnonbid": nonbids}))
    assert {name: row["outcome"] for name, row in attempts(loaded).items()} == {
        "d": "no_bid",
        "blocked": "not_sent_limit",
    }


@pytest.mark.parametrize("type", ["/openrtb2/amp", "/openrtb2/video"])
def test_amp_and_video_auctions(type: str) -> None:
    loaded = read("pbs-go", auction(seats=[seat("d1", 1)], type=type, responsetimemillis={"d1": 10, "d2": 20}))
    assert {name: row["outcome"] for name, row in attempts(loaded).items()} == {"d1": "bid", "d2": "no_bid"}
    assert attempts(loaded)["d1"]["currency"] == "EUR"


def test_a_refused_auction_has_no_id() -> None:
    refused = auction().replace('"Status": 200', '"Status": 400')
    head, _, _ = refused.partition('"Request"')
    line = head + '"Request": null, "Response": null, "StartTime": "2026-09-14T14:00:00+03:00"}\n'
    loaded = read("pbs-go", line + refused)
    assert loaded.reasons == ["auction: auction_id is missing"]
    assert [row["http_status"] for row in loaded.rows["auctions"]] == [400]


def test_events_name_the_bid_in_place_of_the_auction() -> None:
    told = {"bidid": "b1", "account_id": "7", "bidder": "d1", "timestamp": 1789383600123}
    loaded = read("pbs-go", event(type="win", **told) + event(type="imp", **told))
    rows = [(row["kind"], row["auction_id"], row["partner"], row["ts"]) for row in loaded.rows["notices"]]
    ts = datetime(2026, 9, 14, 11, 0, 0, 123_000)
    assert sorted(rows) == [("impression", "b1", "d1", ts), ("win", "b1", "d1", ts)]
    assert [row["price"] for row in loaded.rows["notices"]] == [None, None]


def test_an_event_without_a_time_takes_that_of_its_line() -> None:
    line = event(type="win", bidid="b1", bidder="d1")
    assert read("pbs-go", line, "Europe/Kyiv").only["ts"] == datetime(2026, 9, 14, 11)
    assert read("pbs-go", line).counts.rejects == 1


def test_lines_that_tell_of_no_auction_are_rejects() -> None:
    sync = PREFIX + '{"type":"/cookie_sync","Status":200,"Errors":null,"BidderStatus":[]}\n'
    video = event(type="vast", vtype="start", bidid="b1", bidder="d1", timestamp=1789383600123)
    broken = PREFIX + "Transactional Logs Error: Auction object badly formed\n"
    loaded = read("pbs-go", auction() + sync + video + broken + "hello\n" + event(type="win", timestamp=1789383600123))
    assert loaded.counts.facts == 1
    nothing = "nothing in it that gives a row: auction, attempt, win, impression"
    assert loaded.reasons[:2] == [nothing, nothing]
    assert loaded.reasons[2].startswith("no JSON")
    assert loaded.reasons[3].startswith("does not begin with")
    assert loaded.reasons[4] == "win: auction_id is missing"


def test_values_of_a_wrong_kind_hide_nothing_else() -> None:
    odd = auction(
        request={"id": "a-1", "imp": 5, "tmax": "soon"},
        seats="none",
        responsetimemillis={"d1": "quick", "d2": -5, "": 3},
        errors=[1],
        prebid={"seatnonbid": {"d1": 1}},
    )
    loaded = read("pbs-go", odd)
    assert [row["latency_ms"] for row in attempts(loaded).values()] == [None, None]
    assert dict(loaded.counts.mended) == {"tmax_ms": 1, "latency_ms": 1, "attempt": 1}


def test_personal_values_are_never_stored() -> None:
    planted = {
        "id": "a-1",
        "site": {"page": "https://p.example/?user=SENTINEL"},
        "device": {"ip": "192.0.2.9", "ifa": "SENTINEL"},
        "user": {"id": "SENTINEL", "buyeruid": "SENTINEL"},
    }
    errors = {name: error(code, message="SENTINEL 192.0.2.9") for name, code in [("d1", 1), ("d2", 4), ("d3", 999)]}
    debug = {"httpcalls": {"d1": [{"requestbody": "SENTINEL", "requestheaders": {"X-Ip": ["192.0.2.9"]}}]}}
    whole = auction(planted, [seat("d4", 1)], errors=errors, debug=debug)
    log = whole + auction(planted | {"id": None}) + whole[:-40] + "\n" + event(type="win", account_id="SENTINEL")
    loaded = read("pbs-go", log)
    assert (loaded.counts.facts, loaded.counts.rejects) == (1, 3)
    assert not [value for value in ("SENTINEL", "192.0.2") if value in loaded.kept()]


def test_recognition() -> None:
    assert guessed(auction()) == "pbs-go"
    assert guessed(auction(type="/openrtb2/amp")) == "pbs-go"
    assert guessed(event(type="imp", bidid="b1", bidder="d1", timestamp=1789383600123)) == "pbs-go"
    assert guessed(PREFIX.replace(" DEBUG", ".123456 DEBUG") + auction()[len(PREFIX) :]) == "pbs-go"


def test_long_logs_stay_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"d1": 87, "d2": 241, "d3": 31, "d4": 7}
    nonbids = {"seatnonbid": [nonbid("d4", 301)]}
    errors = {"d2": error(1), "d5": error(16), "d6": error(4, message=STATUS_TEXT.format(503))}
    log = ""
    for number in range(600):
        request = {"id": f"a-{number}", "imp": [{"id": "1"}], "tmax": 300}
        ext: Row = {"responsetimemillis": times, "errors": errors, "prebid": nonbids}
        log += auction(request, [seat("d1", 1.25, number / 100)], **ext)
        log += event(type="win", bidid=f"b{number}", bidder="d1", timestamp=1789383600123 + number)
    whole = read("pbs-go", log)
    assert (whole.counts.facts, len(whole.rows["attempts"]), len(whole.rows["notices"])) == (1200, 3600, 600)
    monkeypatch.setattr(Splitter, "split", None)
    assert read_by_engine("pbs-go", log).counts == whole.counts
