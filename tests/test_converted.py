"""The stage converted: a click's id on an accepted order, whatever comes first, at the time of the auction."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot, open_snapshot
from ingest.load import ingest
from ingest.models.relations import STORED
from ingest.rebuild import rebuild
from tests.loaded import Event, at, attempt, opened, postback

AUCTION_US = 1_789_383_600_000_000
HOUR_S = 3600

CALL: Event = attempt(at(0), "a", http_status=200, bids=1, price=2.0)
CLICK: Event = {"event": "click", "ts": at(2 * HOUR_S), "auction_id": "a", "partner": "p", "click_id": "c"}
REFUSED: Event = postback(at(3 * HOUR_S), "k", "o", http_status=503, click_id="c")
ACCEPTED: Event = postback(at(5 * HOUR_S), "k", "o")
#: Another auction, whose click no accepted order bears, and an accepted order without a click.
BESIDE: list[Event] = [
    attempt(at(60), "b", "q", http_status=200, bids=1, price=2.0),
    {"event": "click", "ts": at(90), "auction_id": "b", "partner": "q", "click_id": "d"},
    postback(at(100), "k", "refused", http_status=400, click_id="d"),
    postback(at(110), "k", "clickless"),
]


def converted(snapshot: Snapshot, **asked: Any) -> int | None:
    filters = Filters(**asked)
    found = {(row["funnel"], row["stage"]): row["count"] for row in tables.rows(snapshot, "funnel", filters)}
    return found["auction", "converted"]


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_call_click_and_order_come_in_any_turn(tmp_path: Path, order: tuple[int, ...]) -> None:
    pieces = [CALL, CLICK, REFUSED, ACCEPTED]
    first = opened(tmp_path, BESIDE)
    assert converted(first) == 0
    for place, number in enumerate(order):
        log = tmp_path / f"{number}.jsonl"
        log.write_text(json.dumps(pieces[number]) + "\n", encoding="utf-8")
        ingest([str(log)], tmp_path / "warehouse")
        assert converted(open_snapshot(tmp_path / "warehouse")) == (1 if place == 3 else 0)
    (tmp_path / "at once").mkdir()
    whole = opened(tmp_path / "at once", [*BESIDE, *pieces])
    rebuild(tmp_path / "warehouse")
    for relation in set(STORED) - {"rejects", "line_hashes"}:
        rows = f"select * from {relation} order by all"
        assert open_snapshot(tmp_path / "warehouse").query(rows) == whole.query(rows), relation


def test_a_conversion_lies_at_its_auction_and_belongs_to_the_partners_called(tmp_path: Path) -> None:
    also = attempt(at(1), "a", "q")
    snapshot = opened(tmp_path, [*BESIDE, CALL, also, CLICK, REFUSED, ACCEPTED])
    assert converted(snapshot, frm_us=AUCTION_US, to_us=AUCTION_US + 1) == 1
    assert converted(snapshot, frm_us=AUCTION_US + 1) == 0
    assert converted(snapshot, partners=("q",)) == 1
    assert converted(snapshot, partners=("r",)) == 0
    losses = {row["reason"]: row["count"] for row in tables.rows(snapshot, "losses") if row["stage"] == "converted"}
    assert losses == {"no_converted": 1}


def test_an_auction_event_that_comes_late_moves_its_conversion(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [*BESIDE, CALL, CLICK, REFUSED, ACCEPTED])
    assert snapshot.query("select us from converted") == [(AUCTION_US,)]
    log = tmp_path / "auction.jsonl"
    log.write_text(json.dumps({"event": "auction", "ts": at(4 * HOUR_S), "auction_id": "a"}) + "\n", encoding="utf-8")
    ingest([str(log)], tmp_path / "warehouse")
    moved = open_snapshot(tmp_path / "warehouse")
    assert moved.query("select us from converted") == [(AUCTION_US + 4 * HOUR_S * 1_000_000,)]
    assert moved.query("select sum(auctions), count(*) from hour_converted") == [(1, 1)]


def test_two_clicks_and_two_orders_are_one_conversion_and_an_orphan_is_none(tmp_path: Path) -> None:
    again = {**CLICK, "ts": at(8000), "click_id": "c2"}
    lone = {**CLICK, "auction_id": "nowhere", "click_id": "c3"}
    orders = [postback(at(9000 + place), "k", f"o{place}", click_id=click) for place, click in enumerate(("c2", "c3"))]
    assert converted(opened(tmp_path, [CALL, CLICK, again, lone, REFUSED, ACCEPTED, *orders])) == 1
