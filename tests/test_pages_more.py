"""What pages tell beside their charts: definitions of every tile, notices, advice on postbacks, age of a breaker."""

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard.components import attention
from dashboard.components.data import reason_titles
from dashboard.snapshot import open_snapshot
from dashboard.texts import say, tell
from tests import warehouses
from tests.test_pages import PAGES, leave_environment, run, simulated, words

__all__ = ["leave_environment", "simulated"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
COMMON = {"auction_id": "A", "partner": "p"}


def ingest(folder: Path, events: list[dict[str, Any]]) -> Path:
    """A warehouse of these events."""
    log = warehouses.write(folder / "log.jsonl", events)
    warehouses.command("ingest", log, "--warehouse", folder / "warehouse")
    return folder / "warehouse"


def said(test: Any) -> str:
    return " ".join(words(test)).replace("\\", "")


def test_an_open_breaker_lasts_up_to_the_newest_data_whatever_the_range(tmp_path: Path) -> None:
    warehouse = ingest(
        tmp_path,
        [
            {"event": "attempt", "ts": "2026-09-14T10:00:00Z", "http_status": 503, "node": "n"} | COMMON,
            {"event": "breaker", "partner": "p", "node": "n", "ts": "2026-09-14T10:00:01Z", "state_from": "closed",
             "state_to": "open"},
            {"event": "attempt", "ts": "2026-09-14T12:00:01Z", "http_status": 204, "auction_id": "B", "partner": "q"},
        ],
    )  # fmt: skip
    past = {"range": "Custom", "from": "2026-09-14T09:00", "to": "2026-09-14T10:00"}
    for query in ({}, past):
        assert "breaker open for 2.0 h by the newest data" in said(run(warehouse, "overview", **query))


def test_notices_stand_on_the_funnel_and_on_the_partners_page_with_each_currency_apart(tmp_path: Path) -> None:
    notice = {"event": "win", "partner": "p"}
    at = "2026-09-14T10:00:0"
    warehouse = ingest(
        tmp_path,
        [
            {"event": "attempt", "ts": f"{at}0Z", "http_status": 200, "bids": 1} | COMMON,
            notice | {"ts": f"{at}1Z", "auction_id": "A", "price": 2000, "currency": "USD"},
            notice | {"ts": f"{at}2Z", "auction_id": "A", "price": 2000, "currency": "USD"},
            notice | {"ts": f"{at}3Z", "auction_id": "B", "price": 3000, "currency": "EUR"},
            notice | {"ts": f"{at}4Z", "auction_id": "C", "price": "${AUCTION_PRICE}"},
        ],
    )
    for page in ("funnel", "partner"):
        told = said(run(warehouse, page))
        assert "n 3 unique, in 4 deliveries; duplicates: 1; orphans: 2; without a price: 1." in told
        assert "Revenue of wins: EUR 3; USD 2." in told
        assert "Unique notices" in told


def test_the_partners_page_has_the_charts_of_the_other_pages(simulated: Path) -> None:
    common = {"effective_actual", "amplification", "amplification_time", "fate"}
    for query, wanted in (
        ({"name": "dsp-bravo"}, common | {"no_bid_time", "notices"}),
        ({"name": "key-hammer"}, common),
    ):
        told = said(run(simulated, "partner", **query))
        for name in wanted:
            assert tell(f"panel.{name}.title") in told, name


def test_an_unknown_partner_of_a_link_is_named(simulated: Path) -> None:
    assert "so not filtered for: nobody" in said(run(simulated, "overview", partner="nobody"))
    assert "so not filtered for" not in said(run(simulated, "overview", partner="key-hammer"))


def flag(stream: str, trigger: str, a_day: float = 10, saved: float | None = 20) -> dict[str, Any]:
    return {
        "stream": stream, "partner": "k", "trigger": trigger, "verdict": "disable", "retries": 100, "successes": 0,
        "upper_bound": 0.03, "retries_per_day": a_day, "ms_saved_per_day": saved, "bids_at_risk": None,
    }  # fmt: skip


def test_a_partner_that_is_not_there_is_said_and_another_one_named(simulated: Path) -> None:
    page = run(simulated, "partner", name="*nobody*")
    [said] = page.warning
    assert "\\*nobody\\*" in said.value
    picked = page.main.selectbox[0]
    assert f"This is {picked.value} instead" in said.value
    other = next(name for name in picked.options if name != picked.value)
    page.main.selectbox[0].select(other).run()
    assert not page.warning


def test_every_link_of_the_overview_keeps_the_filters(simulated: Path) -> None:
    page = run(simulated, "overview", range="7d", partner="flakywire", zone="Europe/Kyiv")
    links = [link.proto for block in (page.main, page.sidebar) for link in block.get("page_link")]
    assert len(links) > len(PAGES)
    for link in links:
        for part in ("range=7d", "partner=flakywire", "zone=Europe%2FKyiv"):
            assert part in link.query_string, (link.page, link.query_string)


@pytest.mark.parametrize(
    ("trigger", "advice"), [("rate_limited", "Retry-After"), ("client_error", "correct the request"), ("*", "stop")]
)
def test_the_sender_of_postbacks_is_told_to_act_not_the_exchange(trigger: str, advice: str) -> None:
    [finding] = attention.bad_retries([flag("postback", trigger)], {}, 7)
    sentence = say(f"finding.{finding.text}", **finding.values)
    remedy = say(f"finding.remedy_{finding.remedy}", **finding.values)
    assert "Retries of key **k**" in sentence
    assert remedy.startswith("Affiliate operations")
    assert advice in remedy
    assert "at risk" not in remedy
    assert "Exchange engineering" not in remedy


def test_rare_retries_and_short_waits_are_not_rounded_to_nothing() -> None:
    [finding] = attention.bad_retries([flag("exchange", "timeout", a_day=0.5)], {}, 7)
    assert (finding.values["per_day"], finding.values["saved"]) == ("0.5", "20.0 ms")
    assert [attention.a_day(rate) for rate in (None, 0, 0.142857, 2.5, 9.97, 1234.4)] == [
        "unknown", "0", "0.14", "2.5", "10", "1,234",
    ]  # fmt: skip


def test_every_trigger_of_a_postback_has_a_title(simulated: Path) -> None:
    snapshot = open_snapshot(simulated)
    titles = reason_titles(snapshot)
    snapshot.close()
    for name in ("rate_limited", "server_error", "client_error", "stale_timestamp", "replay", "unexpected_status"):
        assert "_" not in titles[name]


@pytest.mark.parametrize(
    ("language", "lost", "declined"),
    [
        ("en", "8 · Missing creative id", "8 · Unmatched User"),
        ("uk", "8 · Немає ID креативу", "8 · Користувача не зіставлено"),
    ],
)
def test_a_number_is_a_loss_reason_where_a_call_did_not_win_and_a_no_bid_code_before(
    tmp_path: Path, language: str, lost: str, declined: str
) -> None:
    events: list[dict[str, Any]] = [
        {"event": "attempt", "ts": "2026-09-14T10:00:00Z", **COMMON, "http_status": 200, "bids": 1},
        {"event": "loss", "ts": "2026-09-14T10:00:01Z", **COMMON, "loss_reason": "8"},
        {"event": "attempt", "ts": "2026-09-14T10:00:02Z", **COMMON, "auction_id": "B", "http_status": 204, "nbr": 8},
        {"event": "win", "ts": "2026-09-14T10:00:03Z", "auction_id": "C", "partner": "q"},
    ]
    page = run(ingest(tmp_path, events), "funnel", language=language)
    [chart] = [json.loads(one.proto.spec) for one in page.main.get("plotly_chart") if "losses_call" in one.proto.id]
    names = {note["text"] for note in chart["layout"]["annotations"]}
    assert {lost, declined} <= names
