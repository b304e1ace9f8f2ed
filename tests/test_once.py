"""What pages keep for their next runs is what they would make anew, whatever was looked at before."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from tests.loaded import Event, attempt, load, postback
from tests.test_pages import leave_environment, run

__all__ = ["leave_environment"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CHOICES: tuple[dict[str, str], ...] = (
    {"range": "1h"},
    {"range": "1h", "compare": "a week earlier"},
    {"range": "1h", "incidents": "false"},
    {"range": "1h", "zone": "Asia/Tokyo"},
    {"range": "1h", "language": "ru"},
    {"range": "1h", "partner": "q"},
    {"range": "24h"},
)
WEEK = 7 * 24 * 3_600


def at(second: int) -> str:
    """An instant so many seconds after 2026-09-07 11:00 UTC."""
    return f"{datetime(2026, 9, 7, 11) + timedelta(seconds=second)}Z"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partners and two keys in the newest half hour, five hours and a week before it; breakers open in each."""
    events: list[Event] = []
    for number, start in enumerate((0, WEEK - 5 * 3_600, WEEK)):
        for n in range(12 + number):
            when = at(start + 120 * n)
            ends = {"http_status": (200, 204, 503)[n % 3]}
            events += [attempt(when, f"a{start}-{n}", partner=name, node="n", **ends) for name in ("p", "q")]
            events += [postback(when, key, f"o{start}-{n}", http_status=429 if n % 2 else 200) for key in ("j", "k")]
        for partner in ("p", "q"):
            for state, other, later in (("closed", "open", 60), ("open", "closed", 600 + 60 * number)):
                change = {"state_from": state, "state_to": other, "ts": at(start + later)}
                events.append({"event": "breaker", "partner": partner, "node": "n"} | change)
    return load(tmp_path_factory.mktemp("once"), events)


def seen(test: AppTest) -> list[object]:
    """Charts and tables as they reach the page."""
    charts = [(json.loads(chart.proto.spec), chart.proto.alt) for chart in test.get("plotly_chart")]
    return [*charts, *(table.value.to_csv() for table in test.dataframe)]


@pytest.mark.parametrize("page", ["overview", "funnel", "no_bids", "retries", "breakers", "limits", "whatif"])
def test_other_choices_leave_nothing_behind(warehouse: Path, page: str) -> None:
    after_others = [seen(run(warehouse, page, **choice)) for choice in CHOICES]
    for choice, found in zip(CHOICES, after_others, strict=True):
        streamlit.cache_resource.clear()
        streamlit.cache_data.clear()
        assert seen(run(warehouse, page, **choice)) == found, choice
    assert len({repr(found) for found in after_others}) > len(CHOICES) / 2, "the choices show different things"
