"""Pages of logs that show only the last attempt of a call, and of postbacks without a status or a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.loaded import Event, at, attempt, postback
from tests.shown import load_shown
from tests.test_pages import PAGES, leave_environment, run, words

__all__ = ["leave_environment"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

#: What would be claimed of calls of which nobody knows whether they were retried.
CLAIMS = (
    "No retries in this range",
    "No retries in the last days",
    "No call's original failed",
    "No win in this range came on a retry",
    "No request was answered 429",
    "nothing was repeated",
)


def proxied() -> list[Event]:
    """Calls of three partners behind proxies: two count attempts, one does not; one of them shows all of some calls."""
    events = []
    for number in range(40):
        told: dict[str, Any] = {"last_only": True, "http_status": 503 if number % 4 == 0 else 200}
        events.append(attempt(at(number), f"a{number}", "counting", attempt_count=1 + number % 3, **told))
        events.append(attempt(at(number), f"b{number}", "silent", **told))
    return events


def unanswered() -> list[Event]:
    """Postbacks without a status, half of them without a key."""
    return [
        postback(at(number), "k" if number % 2 else None, f"o{number // 2}", http_status=None)  # type: ignore[arg-type]
        for number in range(20)
    ]


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
    told = said(hidden, page, stream=stream, name=name)
    assert not [claim for claim in CLAIMS if claim in told]


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
    assert tiles["Effective success"] == "75.0 %"
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
