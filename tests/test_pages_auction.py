"""The pages of one auction and one order: given these lines, these words."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.components import panel
from dashboard.filters import Filters
from dashboard.snapshot import open_snapshot
from dashboard.tables import rows
from tests import warehouses
from tests.loaded import Event, at, attempt, load, postback
from tests.shown import load_shown
from tests.test_pages import check_inert, leave_environment, run, words
from tests.warehouses import HOSTILE

__all__ = ["leave_environment"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

BUDGET = {"budget_ms": 300, "timeout_ms": 120}


def ms(after: int) -> str:
    """An instant, milliseconds after 11:00."""
    return at(after // 1000, after % 1000 * 1000)


def auction_events() -> list[Event]:
    """An auction with two partners: one recovers after a timeout, one is cut off by its breaker; a win, twice."""
    slow: dict[str, Any] = {"http_status": None, "error_type": "timeout"}
    return [
        {"event": "auction", "ts": ms(0), "auction_id": "A", "source": "web", "winner": "alpha", "price": "2.5"},
        attempt(ms(10), "A", "alpha", elapsed_ms=10, latency_ms=120, tmax_ms=290, **slow, **BUDGET),
        attempt(ms(150), "A", "alpha", elapsed_ms=150, latency_ms=60, bids=1, price="2.5", **BUDGET)
        | {"http_status": 200, "tmax_ms": 290},
        attempt(ms(12), "A", "beta", elapsed_ms=12, not_sent="breaker", **BUDGET) | {"http_status": None},
        {"event": "win", "ts": ms(900), "auction_id": "A", "partner": "alpha", "price": "2.5"},
        {"event": "win", "ts": ms(1900), "auction_id": "A", "partner": "alpha", "price": "2.5"},
        attempt(ms(5), "other", "alpha"),
    ]


def order_events() -> list[Event]:
    """An order that is asked to wait twice; between its requests comes one of another order."""
    sale: dict[str, Any] = {"tenant": "t", "event_type": "sale", "endpoint": "/x", "latency_ms": 100}
    limited: dict[str, Any] = {"http_status": 429, **sale}
    return [
        postback(at(0), "k", "o1", retry_after="30", **limited),
        postback(at(2, 200_000), "k", "o1", retry_after="10", **limited),
        postback(at(13), "k", "o2", **sale),
        postback(at(16), "k", "o1", **sale),
        postback(at(30), "k", "o1", **limited | {"tenant": "u", "retry_after": "60"}),
    ]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load(tmp_path_factory.mktemp("told"), [*auction_events(), *order_events()])


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table that is drawn, by the name of its panel; those beneath charts too; raw ones as raw."""
    found: dict[str, list[dict[str, Any]]] = {}
    real, show = panel.table, panel.grid.show

    def table(view: Any, name: str, result: Any, drawn: Any, **more: Any) -> None:
        found[name] = list(drawn)
        real(view, name, result, drawn, **more)

    def grid(drawn: Any, zone: Any, *, key: str, **more: Any) -> None:
        name = "raw" if key.startswith("raw") else "_".join(key.split("_")[1:3])
        if not (key.startswith("rows") and name in found):  # behind the door of a table stand its result's rows
            found[name] = list(drawn)
        show(drawn, zone, key=key, **more)

    monkeypatch.setattr(panel, "table", table)
    monkeypatch.setattr(panel.grid, "show", grid)
    return found


def said(test: AppTest) -> str:
    """All words of a page, without what makes them inert."""
    return " ".join(words(test)).replace("\\", "").replace("\u2060", "")


def test_auction_is_told_with_its_budget_its_partners_and_its_winner(told: Path) -> None:
    text = said(run(told, "auction", auction="A"))
    assert "Began **2026-09-14 11:00:00.000** (UTC) · budget **300 ms**, of it 40 ms reserve" in text
    assert "attempts sent: **2**, partners called: **1** · not sent: **1**" in text
    assert "source **web** · won by **alpha**, price 2.5" in text


def test_attempts_stand_by_partner_with_trigger_wait_breaker_and_verdicts(told: Path, tables: Any) -> None:
    run(told, "auction", auction="A")
    shown = [
        (row["partner"], row["what"], row["start_ms"], row["trigger"], row["pause_ms"], row["left_ms"], row["broken"])
        for row in tables["auction_attempts"]
    ]
    assert shown == [
        ("alpha", "original", 10, None, None, 250, None),
        ("alpha", "retry 1", 150, "Timeout", 20, 110, "R3, R5, R12"),
        ("beta", "not sent", 12, None, None, 248, None),
    ]
    assert [(row["what"], row["severity"]) for row in tables["auction_verdicts"]] == [
        ("retry 1", "late"),
        ("retry 1", "late"),
        ("retry 1", "waste"),
    ]


def test_verdicts_are_those_of_the_audit(told: Path, tables: Any) -> None:
    run(told, "auction", auction="A")
    broken = ", ".join(row["broken"] or "" for row in tables["auction_attempts"])
    snapshot = open_snapshot(told)
    audit = [row for row in rows(snapshot, "audit") if row["partner"] == "alpha" and row["violations"]]
    snapshot.close()
    assert sorted(row["rule"] for row in audit) == sorted(filter(None, broken.split(", ")))


def test_calls_and_notices_that_followed_are_told(told: Path, tables: Any) -> None:
    run(told, "auction", auction="A")
    assert [(row["partner"], row["became"], row["fate"]) for row in tables["auction_calls"]] == [
        ("alpha", "won", "recovered by retry 1"),
        ("beta", "not sent", "nothing to recover"),
    ]
    assert [(row["kind"], row["again"], row["after_s"]) for row in tables["auction_notices"]] == [
        ("win", None, 0.9),
        ("win", "yes", 1.9),
    ]


def test_raw_rows_are_those_of_the_table_attempts(told: Path, tables: Any) -> None:
    run(told, "auction", auction="A")
    snapshot = open_snapshot(told)
    logged = rows(snapshot, "attempts", Filters(auction="A"))
    snapshot.close()
    assert tables["raw"] == logged


def test_chart_has_its_content_as_a_text(told: Path) -> None:
    test = run(told, "auction", auction="A")
    [chart] = test.get("plotly_chart")
    assert chart.proto.alt == (
        "Waterfall of 3 attempts of one auction. Budget 300 ms, of it 40 ms reserve. "
        "alpha, original: Timeout, 10 ms + 120 ms; alpha, retry 1: Bid, 150 ms + 60 ms; "
        "beta, not sent: Not sent: breaker open, 12 ms"
    )


def test_partners_that_are_filtered_out_are_counted(told: Path) -> None:
    text = said(run(told, "auction", auction="A", partner="beta"))
    assert "2 attempts to 1 more partners are left out by the filter beside" in text


def test_unknown_ids_are_said_and_prove_nothing(told: Path) -> None:
    assert "no attempt and no event of an auction **nowhere**" in said(run(told, "auction", auction="nowhere"))
    assert "no postback of an order **nowhere**" in said(run(told, "order", order="nowhere"))


def test_without_an_id_the_pages_ask_for_one(told: Path) -> None:
    for page in ("auction", "order"):
        test = run(told, page)
        assert test.text_input[0].value == ""
        assert "The data hold no" not in said(test)


def test_what_no_attempt_tells_is_taken_from_timestamps_and_said(tmp_path: Path, tables: Any) -> None:
    events = [
        attempt(ms(0), "A", "p", http_status=503),
        attempt(ms(90), "A", "p"),
    ]
    text = said(run(load(tmp_path, events), "auction", auction="A"))
    assert [(row["start_ms"], row["latency_ms"], row["start_from"]) for row in tables["auction_attempts"]] == [
        (0, None, "timestamp"),
        (90, None, "timestamp"),
    ]
    assert "No attempt tells the time since the auction began" in text
    assert "How long 2 attempts took is not told: unknown, not 0. For 1 of them the next attempt" in text
    assert "budget **unknown**" in text
    assert "no deadline can be drawn" in text
    assert "no event of the auction itself is in the data" in text


def test_calls_that_hide_their_earlier_attempts_are_said(tmp_path: Path, tables: Any) -> None:
    events = [
        attempt(ms(0), "A", "counting", http_status=503, last_only=True, attempt_count=3),
        attempt(ms(1), "A", "silent", http_status=200, last_only=True),
    ]
    text = said(run(load_shown(tmp_path, events), "auction", auction="A"))
    assert "The call to **counting** shows only the last of its 3 attempts" in text
    assert "The call to **silent** shows only its last attempt, and not how many there were" in text
    assert "the log hides some" in text
    assert "Nothing was repeated" not in text
    assert [row["what"] for row in tables["auction_attempts"]] == ["last one", "last one"]
    assert [(row["attempts_sent"], row["fate"]) for row in tables["auction_calls"]] == [
        (3, "unknown"),
        (None, "unknown"),
    ]


def test_an_id_that_was_used_again_is_two_auctions(tmp_path: Path, tables: Any) -> None:
    warehouse = load(tmp_path, [attempt(at(0), "A"), attempt(at(3600), "A"), attempt(at(3601), "A")])
    assert "This id was used for **2** auctions" in said(run(warehouse, "auction", auction="A"))
    assert len(tables["auction_attempts"]) == 2


def test_an_auction_without_attempts_is_known_by_its_event(tmp_path: Path) -> None:
    events = [{"event": "auction", "ts": at(0), "auction_id": "A", "source": "web"}, attempt(at(0), "B")]
    text = said(run(load(tmp_path, events), "auction", auction="A"))
    assert "source **web** · the exchange names no winner" in text
    assert "No attempt of this auction" in text


def test_waits_of_an_order_are_told_against_retry_after(told: Path, tables: Any) -> None:
    text = said(run(told, "order", order="o1", tenant="t", event_type="sale"))
    assert "Tenant **t** · event type **sale** · first request **2026-09-14 11:00:00.000** (UTC)" in text
    assert "**accepted after retry** (retries: 2, after 16 s)" in text
    assert "**Request 1**: asked to wait 30 s, came after 2.1 s: **early**." in text
    assert "for another order, came after 11 s: **on time**." in text
    assert [(row["outcome"], row["pause_s"], row["followed"]) for row in tables["order_timeline"]] == [
        ("rate limited", None, "early"),
        ("rate limited", 2.1, "on time"),
        ("accepted", 13.7, None),
    ]


def test_an_id_of_two_orders_asks_which(told: Path) -> None:
    text = said(run(told, "order", order="o1", tenant="u", event_type="sale"))
    assert "**2** orders have this id" in text
    assert "Tenant **u**" in text
    assert "no request of the key to the endpoint followed yet: **pending**" in text


def test_lists_link_to_the_pages_with_range_and_zone(told: Path, tables: Any) -> None:
    run(told, "partner", name="alpha", zone="Europe/Kyiv")
    address = urlsplit(tables["attempts"][0]["open_auction"])
    assert (address.scheme, address.netloc, address.path) == ("", "", "auction")
    assert parse_qs(address.query) == {"auction": ["A"], "range": ["All"], "zone": ["Europe/Kyiv"]}
    run(told, "partner", name="k")
    assert parse_qs(urlsplit(tables["postbacks"][0]["open_order"]).query) == {
        "order": ["o1"], "tenant": ["u"], "event_type": ["sale"], "range": ["All"],
    }  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Auctions and orders whose ids try to be more, beside partners that do."""
    events = [
        event
        for place, name in enumerate(HOSTILE)
        for event in (
            attempt(at(place), name, name, http_status=503, error_type=name, latency_ms=10, node=name),
            attempt(at(place, 90_000), name, name, reject_reason=name, latency_ms=10),
            {"event": "auction", "ts": at(place), "auction_id": name, "source": name, "winner": name},
            postback(
                at(place), name, name, tenant=name, event_type=name, http_status=429, retry_after="30", endpoint=name
            ),
            postback(at(place, 500_000), name, name, tenant=name, event_type=name, endpoint=name),
        )
    ]
    return warehouse_of(tmp_path_factory.mktemp("hostile"), events)


def hostile_names(name: str) -> Event:
    return {"tenant": name, "event_type": name, "endpoint": name}


def warehouse_of(folder: Path, events: list[Event]) -> Path:
    warehouses.command("ingest", warehouses.write(folder / "log.jsonl", events), "--warehouse", folder / "warehouse")
    return folder / "warehouse"


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_hostile_ids_stay_text(hostile: Path, place: int) -> None:
    name = HOSTILE[place]
    auction = run(hostile, "auction", auction=name)
    assert auction.text_input[0].value == name
    assert "The data hold no" not in said(auction)
    check_inert(auction)
    order = run(hostile, "order", order=name)
    assert "The data hold no" not in said(order)
    check_inert(order)
    unknown = run(hostile, "auction", auction=f"{name}?")
    assert "The data hold no" in said(unknown)
    check_inert(unknown)
