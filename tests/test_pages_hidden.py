"""Pages of logs that show only the last attempt of a call, and of postbacks without a status or a key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import languages, tables, texts
from dashboard.languages import LANGUAGES
from dashboard.snapshot import open_snapshot
from ingest.formats.registry import list_formats
from ingest.load import ingest
from ingest.options import Options
from tests.foreign_log import guide_sample
from tests.loaded import at, attempt, postback
from tests.shown import load_shown, proxied, unanswered
from tests.test_pages import PAGES, leave_environment, run, words

__all__ = ["leave_environment"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

#: Texts that would claim what nobody knows of calls that hide their attempts, and of requests without an answer.
CLAIMS = (
    "audit.no_retries",
    "calm.breakers",
    "calm.limits_exchange",
    "calm.limits_postback",
    "calm.retries_exchange",
    "calm.retries_postback",
    "gap.closed",
    "gap.none",
    "order_page.no_429",
    "orders.none_lost",
    "panel.backoff.empty",
    "panel.fate.empty",
    "panel.flag_history.empty",
    "panel.flags.empty",
    "panel.losses_auction.empty",
    "panel.losses_call.empty",
    "panel.losses_postback.empty",
    "panel.no_bid_reasons.empty",
    "panel.order_fault_kinds.empty",
    "panel.order_times.empty",
    "panel.rescued.empty",
    "panel.retry_after.empty",
    "panel.retry_heatmap.empty",
    "panel.throttle_delays.empty",
    "panel.throttle_keys.empty",
)


def claims(told: str) -> list[str]:
    """Which of these texts, as they begin before any value is put in, are among the words of a page."""
    return [name for name in CLAIMS if texts.tell(name, n="#").split("#")[0] in told]


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load_shown(tmp_path_factory.mktemp("hidden"), [*proxied(), *unanswered()])


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, beside a partner and a key that show everything."""
    retried = [
        attempt(
            at(number, place * 90_000), f"c{number}", "open", http_status=status, elapsed_ms=place * 90, budget_ms=300
        )
        for number in range(60)
        for place, status in enumerate((503, 503))
    ]
    told = [postback(at(number), "told", f"t{number}", http_status=429 if number % 2 else 200) for number in range(30)]
    return load_shown(tmp_path_factory.mktemp("mixed"), [*proxied(), *unanswered(), *retried, *told])


def said(warehouse: Path, page: str, **query: str) -> str:
    return " ".join(words(run(warehouse, page, **query))).replace("\\", "")


@pytest.mark.parametrize("stream", ["exchange", "postback"])
@pytest.mark.parametrize("page", PAGES)
def test_no_page_claims_what_nobody_knows(hidden: Path, page: str, stream: str) -> None:
    name = {"exchange": "counting", "postback": "k"}[stream]
    assert not claims(said(hidden, page, stream=stream, name=name))


@pytest.mark.parametrize("code", ["ru", "uk"])
@pytest.mark.parametrize("page", ["overview", "funnel", "limits"])
def test_no_language_claims_what_nobody_knows(
    hidden: Path, page: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(languages, "current", lambda: LANGUAGES[code])
    told = said(hidden, page)
    assert texts.tell("untold.limits_exchange") in told or page != "overview"
    assert not claims(told)


@pytest.mark.parametrize("name", [fmt.name for fmt in list_formats()[1:]])
def test_a_log_of_each_format_alone_claims_no_more_than_it_shows(name: str, tmp_path: Path) -> None:
    log = tmp_path / "some.log"
    log.write_text(guide_sample(name), encoding="utf-8")
    ingest([str(log)], tmp_path / "warehouse", Options(zone="UTC"))
    snapshot = open_snapshot(tmp_path / "warehouse")
    limits = tables.rows(snapshot, "rate_limits")
    told = " ".join(said(tmp_path / "warehouse", page) for page in ("overview", "limits", "breakers"))
    assert texts.tell("calm.breakers") not in told
    for stream in ("exchange", "postback"):
        rows = [row for row in limits if row["stream"] == stream]
        known = all(row["limited"] is not None for row in rows)
        assert (texts.tell(f"calm.limits_{stream}") in told) == (bool(rows) and known)
        assert (texts.tell(f"untold.limits_{stream}") in told) == (bool(rows) and not known)
    if all(row["limited"] is None for row in limits):
        assert texts.tell("panel.throttle_keys.empty") not in told


def test_the_funnel_tells_bids_that_are_known_from_those_that_may_be(tmp_path: Path) -> None:
    events = [attempt(at(number), f"a{number}", "p", http_status=200, last_only=True) for number in range(3)]
    events += [attempt(at(9), "a9", "p", http_status=204, last_only=True)]
    warehouse = load_shown(tmp_path, events)
    funnel = run(warehouse, "funnel")
    told = " ".join(words(funnel)).replace("\\", "")
    assert "3 of 4 answers do not tell a bid from a no-bid." in told
    assert "No bid means here that none is known" in told
    assert "0 \u00b7 or more" in charts(funnel)
    assert "· 0.0%" not in charts(funnel)
    tiles = {metric.label: metric.value for metric in run(warehouse, "no_bids").metric}
    assert (tiles["No-bids of answers"], tiles["Without a reason"]) == ("unknown", "100.0%")


def charts(page: AppTest) -> str:
    """What is drawn on a page, as its specification."""
    return " ".join(json.dumps(json.loads(chart.proto.spec), ensure_ascii=False) for chart in page.get("plotly_chart"))


def test_faults_are_counted_of_orders_that_could_be_judged(tmp_path: Path) -> None:
    events = [
        postback(at(0), "k", "o1", http_status=None, amount="1.00", currency="USD"),  # type: ignore[arg-type]
        postback(at(1), "k", "o2", amount="1.00", currency="USD"),
    ]
    tiles = {metric.label: metric for metric in run(load_shown(tmp_path, events), "limits").metric}
    assert tiles["Orders with a fault"].value == "0"
    assert "of 1" in tiles["Orders with a fault"].delta


def test_what_if_has_nothing_to_replay_where_every_call_hides(tmp_path: Path) -> None:
    events = [attempt(at(number), f"a{number}", "p", http_status=503, last_only=True) for number in range(3)]
    page = run(load_shown(tmp_path, events), "whatif")
    assert "no call that was sent shows all its attempts" in " ".join(words(page))
    assert not page.metric


def test_limits_and_audit_say_that_they_count_what_shows(tmp_path: Path) -> None:
    limited = {"last_only": True, "http_status": 429, "retry_after": "5", "attempt_count": 2}
    warehouse = load_shown(tmp_path, [attempt(at(number), f"a{number}", "p", **limited) for number in range(3)])
    assert "Requests, 429s and waits on this page count what shows" in said(warehouse, "limits")
    assert "was judged on the attempts that show" in said(warehouse, "retries")


@pytest.mark.parametrize("page", ["overview", "retries"])
def test_pages_say_how_many_calls_hide_their_earlier_attempts(hidden: Path, page: str) -> None:
    told = said(hidden, page)
    assert "66 of 80 calls show only their last attempt" in told
    assert "40 of them do not even tell how many attempts there were" in told


def test_the_partner_page_tells_its_own(hidden: Path) -> None:
    told = said(hidden, "partner", name="counting")
    assert "26 of 40 calls show only their last attempt" in told
    assert "do not even tell" not in told
    assert "none of the rules on attempts was judged on them" in told


def test_what_if_says_which_calls_it_leaves_out(hidden: Path) -> None:
    assert "66 calls are left out" in said(hidden, "whatif")


@pytest.mark.parametrize("page", ["overview", "limits"])
def test_pages_say_how_many_postbacks_tell_no_status_and_no_key(hidden: Path, page: str) -> None:
    told = said(hidden, page)
    assert "20 of 20 postbacks tell no status" in told
    assert "10 postbacks name no key." in told


def test_tiles_of_unknown_figures_read_unknown(hidden: Path) -> None:
    tiles = {metric.label: metric.value for metric in run(hidden, "retries").metric}
    for name in (
        "Retry success",
        "Recovered calls",
        "Wasted retries",
        "Late retries",
        "Actual success",
        "Amplification",
    ):
        assert tiles[name] == "unknown", name
    assert tiles["Effective success"] == "75.0%"
    tiles = {metric.label: metric.value for metric in run(hidden, "limits").metric}
    assert (tiles["429 of partners"], tiles["429 of postbacks"]) == ("unknown", "unknown")
    assert (tiles["Accepted postbacks"], tiles["Duplicates"], tiles["Lost conversions"]) == ("unknown",) * 3


@pytest.mark.parametrize("page", PAGES)
def test_pages_show_known_and_unknown_side_by_side(mixed: Path, page: str) -> None:
    told = said(mixed, page, name="open")
    if page == "overview":
        assert "Retries to **open** after **HTTP 5xx**" in told or "**open**" in told
        assert "66 of 140 calls show only their last attempt" in told
    if page == "retries":
        assert "Retries of 66 calls are not in it" in told


def test_the_partner_table_tells_unknown_from_none(mixed: Path) -> None:
    grid = next(frame.value for frame in run(mixed, "overview").dataframe if "retry_success" in frame.value.columns)
    found = {(row.stream, row.partner): row for row in grid.itertuples()}
    assert found["exchange", "silent"].verdict == "unknown"
    assert found["exchange", "open"].verdict == "disable"
