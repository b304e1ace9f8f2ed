"""What the pages Retries and Breakers say of rules, time, money, flags and differences, on given lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import texts
from dashboard.components import grid
from ingest.load import ingest
from tests.conftest import REPOSITORY
from tests.loaded import Event, at, attempt, load, postback
from tests.test_tables_audit import call, empties
from tests.test_tables_breakers import change, outage, sent

APP = REPOSITORY / "dashboard" / "app.py"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

Rows = list[dict[str, Any]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, Rows]:
    """Rows of each table that a page shows, by panel; the first row of the panels in `picked` is chosen."""
    found: dict[str, Rows] = {}
    real = grid.show

    def show(rows: Rows, zone: Any, *, key: str, on_select: Any = None, **more: Any) -> None:
        real(rows, zone, key=key, on_select=on_select, **more)
        name = re.sub(r"^grid_(.*?)_[0-9a-f]{10}(_.*)?$", r"\1", key) if key.startswith("grid") else ""
        found[name] = list(rows)
        if on_select is not None and name in PICKED:
            on_select(0)

    monkeypatch.setattr(grid, "show", show)
    return found


PICKED = ("audit", "audit_cases")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Loads events and runs a page on them."""

    def page(name: str, events: Iterable[Event] = (), **query: str) -> AppTest:
        warehouse = load(tmp_path, events) if events else tmp_path / "warehouse"
        monkeypatch.setenv("RETRYLENS_WAREHOUSE", str(warehouse))
        test = AppTest.from_file(str(APP), default_timeout=120)
        test.switch_page(f"app_pages/{name}.py")
        for key, value in ({"range": "All"} | query).items():
            test.query_params[key] = value
        test.run()
        assert not test.exception, [error.value for error in test.exception]
        return test

    return page


def said(test: AppTest) -> str:
    """All running text of the page, without the marks that keep it inert."""
    return "\n".join(one.value for one in [*test.main.markdown, *test.main.caption]).replace("\\", "")


def test_rules_are_told_in_words_worst_first_with_what_was_checked(run: Any, shown: dict[str, Rows]) -> None:
    run("retries", call({"nbr": 3, "bids": 0, "http_status": 200}, {"http_status": 400}, {"http_status": 204}))
    first, second = shown["audit"][:2]
    assert first["rule_text"] == texts.tell("rule.R1_harmful")
    assert (first["severity"], first["violations"], first["checked"], first["share"]) == ("harmful", 1, 2, 0.5)
    assert (first["worst"], first["remedy"]) == ("p", texts.tell("rule_remedy.R1_harmful"))
    assert second["rule_text"] == texts.tell("rule.R8")
    assert {row["worst"] for row in shown["audit"][2:]} == {texts.tell("audit.kept")}


def test_a_rule_leads_to_its_calls_and_a_call_to_its_attempts(run: Any, shown: dict[str, Rows]) -> None:
    test = run("retries", call({"nbr": 3, "bids": 0, "http_status": 200}, {"http_status": 204}))
    [case] = shown["audit_cases"]
    assert (case["auction_id"], case["partner"], case["retries"], case["triggers"]) == ("A", "p", 1, ["No bid"])
    assert [row["broken"] for row in shown["audit_attempts"]] == [[], ["R1 harmful"]]
    assert texts.say("links.auction", auction="A") in [link.proto.label for link in test.main.get("page_link")]


def test_a_rule_of_postbacks_leads_to_the_postbacks_of_the_order(run: Any, shown: dict[str, Rows]) -> None:
    events = [postback(at(place), order="o1", http_status=400) for place in range(3)]
    run("retries", [*events, postback(at(9), order="o1", key="other")])
    assert [row["external_order_id"] for row in shown["audit_cases"]] == ["o1"]
    assert [row["http_status"] for row in shown["audit_postbacks"]] == [400, 400, 400]


def test_what_the_log_never_carried_is_said_in_words(run: Any) -> None:
    text = said(run("retries", call({"http_status": 503}, {"http_status": 204})))
    for rule in ("R5", "R6", "R7", "R9", "R12"):
        assert texts.say(f"unjudged.{rule}") in text
    assert texts.say("late.none") in text
    assert texts.say("budget.unknown") in text
    assert texts.say("rescued.none_known") in text


def test_what_could_be_judged_is_not_called_unknown(run: Any) -> None:
    told = {"request_id": "r", "budget_ms": 300, "elapsed_ms": 10, "timeout_ms": 120, "tmax_ms": 200, "latency_ms": 9}
    events = call(told | {"http_status": 503, "breaker": "closed"}, told, second=40)
    text = said(run("retries", [*events, *empties(10)]))
    assert not re.search(r"\*\*R\d+\*\* ", text.replace(texts.say("unjudged.R10"), ""))


def test_hammering_is_not_asked_of_single_partners(run: Any) -> None:
    text = said(run("retries", call({"http_status": 503}, {"http_status": 204}), partner="p"))
    assert texts.say("unjudged.R9_partner") in text


def test_the_time_budget_counts_retries_without_time_and_late_ones(run: Any, shown: dict[str, Rows]) -> None:
    common = {"budget_ms": 300, "timeout_ms": 120, "http_status": 503, "latency_ms": 100}
    test = run("retries", call(*[common | {"elapsed_ms": ms} for ms in (0, 15, 120, 200)]))
    note = texts.say("budget.note", judged=3, infeasible=1, share="33.3%", late=1, late_checked=3, unjudged=0).replace(
        "\\", ""
    )
    assert note in said(test)
    assert "Left: 300 - 40 - 15 = 245 ms" in said(test)
    [late] = shown["late"]
    assert (late["partner"], late["late_retries"], late["late_checked"]) == ("p", 1, 3)


def test_the_budget_is_of_one_partner_and_trigger(run: Any) -> None:
    events = call({"http_status": 503}, {"http_status": 429}, {}) + call({}, {}, auction="B", partner="q", second=5)
    test = run("retries", events)
    partner, trigger = test.main.selectbox
    assert (partner.value, partner.options) == ("p", ["p", "q"])
    assert trigger.options == ["every trigger", "Rate limited (429)", "Server error (5xx)"]
    partner.select("q").run()
    assert test.main.selectbox[1].options == ["every trigger", "No bid"]
    assert not test.exception


def test_rescued_money_is_never_added_across_currencies(run: Any, shown: dict[str, Rows]) -> None:
    events = []
    for auction, currency in (("A", "USD"), ("B", "EUR")):
        events += call({"http_status": 503}, {"http_status": 200, "bids": 1, "price": "2"}, auction=auction)
        win = {"event": "win", "ts": at(5), "auction_id": auction, "partner": "p", "price": "2", "currency": currency}
        events.append(win)
    text = said(run("retries", events))
    assert f"{texts.say('rescued.by_currency')} EUR 0.002 in 1 win; USD 0.002 in 1 win." in text
    assert [(row["currency"], row["wins"], row["revenue"]) for row in shown["rescued"]] == [
        ("EUR", 1, "0.002"),
        ("USD", 1, "0.002"),
    ]


def test_a_flag_is_kept_with_its_evidence_and_cleared_when_none_comes(
    run: Any, shown: dict[str, Rows], tmp_path: Path
) -> None:
    events = [event for place in range(12) for event in call({}, {}, auction=f"A{place}", second=place)]
    run("retries", events)
    rows = {(row["partner"], row["trigger"]): row for row in shown["flag_history"]}
    row = rows["p", "No bid"]
    assert row["cleared"] == texts.tell("flag_history.open")
    assert row["evidence_raised"].startswith("0 of 12 succeeded")
    later = tmp_path / "later.jsonl"
    later.write_text(
        '{"event":"attempt","ts":"2026-09-30T11:00:00Z","auction_id":"Z","partner":"p","http_status":204}\n'
    )
    ingest([str(later)], tmp_path / "warehouse")
    run("retries")
    rows = {(row["partner"], row["trigger"]): row for row in shown["flag_history"]}
    assert rows["p", "No bid"]["cleared_because"] == texts.tell("flag_history.no_retries")


# Breakers


def test_a_missed_opening_is_a_sentence_that_leads_to_its_attempts(run: Any, shown: dict[str, Rows]) -> None:
    test = run("breakers", [*outage(node="n1"), change(5, "half_open", "closed", "n1")])
    sentence = "**p** should have opened at 2026-09-14 11:00:19 and did not: 5 attempts wasted."
    assert sentence in said(test)
    assert "gap_attempts" not in shown
    test.main.button[0].click().run()
    assert not test.exception
    assert len(shown["gap_attempts"]) == 6


def test_a_late_and_a_needless_opening_are_told(run: Any) -> None:
    events = [*outage(), change(33, "closed", "open"), change(59, "open", "closed")]
    events += [sent(second, partner="q") for second in range(10)] + [change(10, "closed", "open", partner="q")]
    text = said(run("breakers", events))
    assert "**p** should have opened at 2026-09-14 11:00:19 and opened 14 s later (on 1 of 1 nodes): 5 attempts" in text
    assert "**q** opened at 2026-09-14 11:00:10 for 50 s so far without need" in text


def test_partners_of_whose_breakers_nothing_is_told_are_named(run: Any) -> None:
    text = said(run("breakers", outage()))
    assert f"{texts.say('gap.silent')} **p**." in text
    assert "whether it did, the logs do not tell: 5 attempts wasted if not" in text
    assert texts.say("breakers_note.only_expected") in text


def test_no_difference_is_said(run: Any) -> None:
    events = [attempt(at(second), f"A{second}", breaker="closed") for second in range(5)]
    text = said(run("breakers", events))
    assert texts.say("gap.none") in text
    assert texts.say("gap.silent") not in text


def test_both_kinds_are_drawn(run: Any) -> None:
    [chart] = run("breakers", [*outage(), change(33, "closed", "open")]).get("plotly_chart")
    assert '"expected \\u00b7 p"' in chart.proto.spec
