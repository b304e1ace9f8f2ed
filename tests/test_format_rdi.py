"""Auction summaries with their answers, and what followed by `request_id`: given these lines, those rows."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from ingest.rows.split import Splitter
from tests.foreign_log import Loaded, Row, guessed, read, read_by_engine

TS = "2026-09-14T11:00:00.500Z"


def summary(*answers: Any, **values: Any) -> str:
    line = {"id": "R-1", "timestamp": TS, "at": 2, "tmax": 300, "imp": [{"tagid": "9"}], "bid_responses": answers}
    return json.dumps(line | values) + "\n"


def answer(status: Any = 1, **values: Any) -> Row:
    known = {"timestamp": "2026-09-14T11:00:00.700Z", "status": status, "total_duration": 43, "bidder_name": "d1"}
    return known | values


def bids(*values: Row) -> list[Row]:
    return [{"seat": "1", "bid": [{"id": "1", "impid": "1", "price": 5.4} | value for value in values]}]


def notice(**values: Any) -> str:
    return json.dumps({"timestamp": TS, "request_id": "R-1"} | values) + "\n"


def attempt(**values: Any) -> Row:
    """The attempt of an auction with this one answer."""
    (row,) = read("rdi", summary(answer(**values))).rows["attempts"]
    return row


def told(loaded: Loaded) -> Row:
    """The one auction."""
    (row,) = loaded.rows["auctions"]
    return row


def test_an_auction_with_its_answers() -> None:
    loaded = read(
        "rdi",
        summary(
            answer(seatbid=bids({"price": 5.4, "clear_price": 1.1, "status": 1}), cur="EUR"),
            answer(2, bidder_name="d2", total_duration=303),
            answer(1, bidder_name="d3", total_duration=21, nbr=2),
        ),
    )
    auction = told(loaded)
    assert (auction["ts"], auction["auction_id"]) == (datetime(2026, 9, 14, 11, 0, 0, 500_000), "R-1")
    assert (auction["tmax_ms"], auction["imps"]) == (300.0, 1)
    assert (auction["winner"], auction["price"], auction["currency"]) == ("d1", Decimal("1.1"), "EUR")
    rows = {row["partner"]: row for row in loaded.rows["attempts"]}
    assert {name: (row["outcome"], row["latency_ms"]) for name, row in rows.items()} == {
        "d1": ("bid", 43.0),
        "d2": ("timeout", 303.0),
        "d3": ("no_bid", 21.0),
    }
    assert (rows["d1"]["price"], rows["d1"]["currency"], rows["d3"]["nbr"]) == (Decimal("5.4"), "EUR", 2)
    for row in rows.values():
        assert (row["ts"], row["http_status"], row["attempt"]) == (auction["ts"], None, None)
        assert (row["last_only"], row["attempt_count"]) == (True, None)
    assert loaded.counts.facts == 1


@pytest.mark.parametrize(
    "values, outcome, reason",
    [
        ({"seatbid": bids({})}, "bid", None),
        ({"seatbid": bids({}), "nbr": 2}, "bid", None),
        ({"seatbid": []}, "no_bid", "no_reason"),
        ({}, "no_bid", "no_reason"),
        ({"seatbid": None, "nbr": 0}, "no_bid", "0"),
        ({"nbr": "8"}, "no_bid", "8"),
        ({"nbr": "sorry"}, "no_bid", "invalid"),
        ({"seatbid": bids({"price": -1})}, "invalid_response", None),
        ({"seatbid": "none"}, "invalid_response", None),
        ({"status": "1", "seatbid": bids({"price": "2.5"})}, "bid", None),
        ({"status": 2}, "timeout", None),
        ({"status": 2, "seatbid": bids({})}, "timeout", None),
        ({"status": 3}, "invalid_response", None),
        ({"status": 4}, "unknown_error", None),
        ({"status": 9}, "unknown_error", None),
        ({"status": None}, "unknown_error", None),
    ],
)
def test_an_answer_by_its_status(values: Row, outcome: str, reason: str | None) -> None:
    row = attempt(**values)
    assert (row["outcome"], row["reason"], row["http_status"]) == (outcome, reason, None)


def test_the_highest_valid_bid_is_the_price() -> None:
    row = attempt(seatbid=bids({"price": 1.5}, {"price": 2.25}, {"price": -9}), cur="EUR")
    assert (row["bids"], row["price"], row["currency"]) == (2, Decimal("2.25"), "EUR")


@pytest.mark.parametrize("names", [{"bidder_name": None}, {"bidder_name": ""}])
def test_a_bidder_without_a_name_goes_by_its_id(names: Row) -> None:
    loaded = read("rdi", summary(answer(bidder_id="id1", seatbid=bids({"status": 1}), **names)))
    assert (loaded.rows["attempts"][0]["partner"], told(loaded)["winner"]) == ("id1", "id1")


@pytest.mark.parametrize(
    "statuses, reason",
    [([3], "below_floor"), ([10, 8], "blocked_attribute"), ([2], None), ([3, 2], None), ([1], None), ([None], None)],
)
def test_bids_that_the_exchange_dropped(statuses: list[int | None], reason: str | None) -> None:
    row = attempt(seatbid=bids(*({"status": status} for status in statuses)))
    assert (row["outcome"], row["reject_reason"]) == ("bid", reason)


def test_the_winner_is_marked_or_has_a_bid_that_won() -> None:
    lost = answer(seatbid=bids({"status": 2}))
    marked = answer(bidder_name="d2", seatbid=bids({}), auction_winner=True)
    won = answer(bidder_name="d2", seatbid=bids({"status": 2}, {"status": 1, "price": 3}))
    assert told(read("rdi", summary(lost)))["winner"] is None
    assert told(read("rdi", summary(lost, marked)))["winner"] == "d2"
    assert (told(read("rdi", summary(lost, won)))["winner"], told(read("rdi", summary(won)))["price"]) == ("d2", 3)


@pytest.mark.parametrize(
    "values, kind, price",
    [
        ({"charge_price": 1.1, "publisher_revenue": 1.0}, "impression", Decimal("1.1")),
        ({"publisher_revenue": 1.0}, "impression", None),
        ({"win_price": 1.25}, "win", Decimal("1.25")),
        ({"clear_price": 1.25, "cur": "EUR"}, "win", Decimal("1.25")),
        ({}, "click", None),
    ],
)
def test_notices_by_what_they_carry(values: Row, kind: str, price: Decimal | None) -> None:
    row = read("rdi", notice(**values)).only
    assert (row["kind"], row["auction_id"], row["price"]) == (kind, "R-1", price)
    assert (row["partner"], row["currency"]) == (None, values.get("cur"))


def test_conversions_repeat_a_summary_and_count_as_nothing() -> None:
    again = summary(answer(), timestamp="2026-09-15T11:00:00Z", conversions={"conversion_type": "sale"})
    loaded = read("rdi", summary(answer()) + again + notice(conversions={}))
    nothing = "nothing in it that gives a row: auction, attempt, win, impression, click"
    assert (loaded.counts.facts, loaded.reasons) == (1, [nothing, nothing])


def test_half_matching_lines_are_rejects_with_the_part() -> None:
    lines = [summary(answer(), id=None), notice(request_id=""), notice(timestamp="yesterday"), "{}\n", "[1]\n"]
    loaded = read("rdi", "".join(lines) + summary(answer())[:60] + "\n")
    assert loaded.counts.facts == 0
    assert loaded.reasons[:3] == [
        "auction: auction_id is missing",
        "click: auction_id is missing",
        "click: ts is no RFC 3339 time and no epoch number",
    ]
    assert loaded.reasons[4] == "JSON, but no object"


def test_answers_of_a_wrong_kind_hide_nothing_else() -> None:
    loaded = read("rdi", summary(7, None, answer(bidder_name=None), answer(total_duration=-3), imp="[x"))
    assert [row["partner"] for row in loaded.rows["attempts"]] == ["d1"]
    assert dict(loaded.counts.mended) == {"latency_ms": 1, "attempt": 1}
    loaded = read("rdi", summary() + json.dumps({"id": "R-2", "timestamp": TS, "bid_responses": "garbage"}))
    assert (loaded.counts.facts, loaded.rows["attempts"]) == (2, [])


def test_personal_values_are_never_stored() -> None:
    planted = {"device": {"ip": "192.0.2.9", "didsha1": "SENTINEL"}, "user": {"id": "SENTINEL", "yob": 1987}}
    made = answer(seatbid=bids({"iurl": "https://x.example/?u=SENTINEL", "adm": "SENTINEL"}), ext={"uid": "SENTINEL"})
    whole = summary(made, **planted)
    loaded = read("rdi", whole + summary(made, id=None, **planted) + whole[:-9] + "\n" + notice(**planted))
    assert (loaded.counts.facts, loaded.counts.rejects) == (2, 2)
    assert not [value for value in ("SENTINEL", "192.0.2") if value in loaded.kept()]


def test_recognition() -> None:
    assert guessed(summary(answer())) == "rdi"
    assert guessed(notice()) == guessed(notice(charge_price=1.1, publisher_revenue=1)) == "rdi"
    assert guessed(notice(win_price=1.1)) == "rdi"


def test_long_logs_stay_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    log = ""
    for number in range(600):
        made = answer(seatbid=bids({"status": 1, "clear_price": 1.1, "price": number / 100 + 0.01}))
        log += summary(made, answer(2, bidder_name="d2"), answer(1, bidder_name="d3", nbr=2), id=f"R-{number}")
        log += notice(request_id=f"R-{number}", charge_price=1.1) + notice(request_id=f"R-{number}")
    whole = read("rdi", log)
    assert (whole.counts.facts, len(whole.rows["attempts"]), len(whole.rows["notices"])) == (1800, 1800, 1200)
    monkeypatch.setattr(Splitter, "split", None)
    assert read_by_engine("rdi", log).counts == whole.counts
