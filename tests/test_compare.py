"""Figures beside those of an earlier period: which period, by how much each changed, and what is not known of it."""

import json
import re
from pathlib import Path

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.charts import timeline
from dashboard.components import compare
from dashboard.components.compare import Amount
from tests.loaded import at, attempt, load
from tests.test_pages import leave_environment, run

__all__ = ["leave_environment"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
HOUR = 3_600
SECOND_HOUR = {"range": "Custom", "from": "2026-09-14T12:00", "to": "2026-09-14T13:00"}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """11:00 to 12:00 UTC: two of four calls answered; then an hour with three of four, and a call of q."""
    first = [attempt(at(60 * n), f"a{n}", http_status=204 if n < 2 else 503) for n in range(4)]
    second = [attempt(at(HOUR + 60 * n), f"b{n}", http_status=204 if n < 3 else 503) for n in range(4)]
    return load(tmp_path_factory.mktemp("compare"), [*first, *second, attempt(at(2 * HOUR - 1), "c", "q")])


def captions(test: AppTest) -> list[str]:
    return [caption.value.replace("\\", "") for caption in test.main.caption]


def test_each_figure_tells_its_change_and_both_parts(warehouse: Path) -> None:
    test = run(warehouse, "partner", name="p", **SECOND_HOUR)
    told = captions(test)
    assert "▲ +25.0 pp from 50.0% (n 4)" in told
    assert "unchanged, 4" in told
    [tile] = [tile for tile in test.metric if tile.label == "Effective success"]
    assert tile.value == "75.0%"
    assert tile.help.replace("\\", "").endswith("Before, 2026-09-14 11:00 - 2026-09-14 12:00 (UTC): 50.0%, 2 of 4")
    assert "Compared with 2026-09-14 11:00 - 2026-09-14 12:00 (UTC)." in told


def test_whatif_compares_what_was_measured(warehouse: Path) -> None:
    test = run(warehouse, "whatif", **SECOND_HOUR)
    told = captions(test)
    assert [tile.label for tile in test.metric][:3] == ["Calls", "Effective success", "Amplification"]
    assert "▲ +30.0 pp from 50.0% (n 4)" in told
    assert "Compared with 2026-09-14 11:00 - 2026-09-14 12:00 (UTC)." in told


@pytest.mark.parametrize(
    ("page", "query", "why"),
    [
        ("auction", {"auction": "a1"}, "An auction is told whole, whatever the range"),
        ("data", {}, "These figures are of all loads: no range bounds them"),
    ],
)
def test_what_no_range_bounds_says_why_it_is_not_compared(
    warehouse: Path, page: str, query: dict[str, str], why: str
) -> None:
    assert any(text.startswith(why) for text in captions(run(warehouse, page, **query, **SECOND_HOUR)))


def test_a_table_of_partners_has_the_changes_as_columns(warehouse: Path) -> None:
    frame = run(warehouse, "overview", **SECOND_HOUR).dataframe[-1].value.set_index("partner")
    assert frame.loc["p", "calls_change"] == 0
    assert frame.loc["p", "effective_change"] == 25
    assert frame.loc["q", ["calls_change", "effective_change"]].isna().all()


def test_counts_are_not_compared_with_a_period_that_the_data_cover_in_part(warehouse: Path) -> None:
    asked = {"range": "Custom", "from": "2026-09-14T11:30", "to": "2026-09-14T13:00", "name": "p"}
    told = captions(run(warehouse, "partner", **asked))
    assert "unknown before" in told
    assert "▲ +25.0 pp from 50.0% (n 4)" in told
    [note] = [text for text in told if text.startswith("Compared with")]
    assert "only from 2026-09-14 11:00:00 on: counts are not compared" in note


def test_where_there_is_no_earlier_data_that_is_said(warehouse: Path) -> None:
    first_hour = {"range": "Custom", "from": "2026-09-14T11:00", "to": "2026-09-14T12:00"}
    told = captions(run(warehouse, "overview", **first_hour))
    assert any("the data begin at 2026-09-14 11:00:00" in text for text in told)
    assert "unknown before" in told
    told = captions(run(warehouse, "overview", range="All"))
    assert any("this range has no start" in text for text in told)
    assert not any("before" in text for text in told if "Nothing to compare" not in text)


@pytest.mark.parametrize("asked", ["nothing", "ничем", "off"])
def test_comparing_is_switched_off_by_the_address_in_any_language(warehouse: Path, asked: str) -> None:
    test = run(warehouse, "overview", compare=asked, **SECOND_HOUR)
    assert not any("Compared" in text or re.search(r" from \W*\d", text) for text in captions(test))
    assert "calls_change" not in test.dataframe[-1].value


def test_a_week_earlier_is_asked_for_by_the_address(warehouse: Path) -> None:
    told = captions(run(warehouse, "overview", compare="a week earlier", **SECOND_HOUR))
    assert any("2026-09-07 12:00 - 2026-09-07 13:00" in text for text in told)


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        (Amount("count", 120), Amount("count", 100), "▲ +20 (20.0%) from 100"),
        (Amount("count", 3), Amount("count", 0), "▲ +3 from 0"),
        (Amount("count", 0), Amount("count", 0), "unchanged, 0"),
        (Amount("ratio", 1.1, 110, 100), Amount("ratio", 1.2, 60, 50), "▼ \u22120.100 (8.3%) from 1.200 (n 50)"),
        (Amount("share", 0.5, 1, 2), Amount("share", 0.521, 521, 1000), "▼ \u22122.1 pp from 52.1% (n 1,000)"),
        (Amount("share", 0.02951, 1, 2), Amount("share", 0.02949, 1, 9), "▲ <0.01 pp from 2.9% (n 9)"),
        (Amount("share", None), Amount("share", 0.5, 1, 2), "was 50.0% (n 2)"),
        (Amount("share", 0.5), Amount("share", None, None, 0), "unknown before"),
    ],
)
def test_a_change_is_told_with_its_direction(now: Amount, then: Amount, expected: str) -> None:
    assert compare.change(now, then).replace("\\", "") == expected


def lines(test: AppTest, panel: str) -> list[go.Scatter]:
    """The faint lines of a chart, as they reach the page."""
    [chart] = [chart for chart in test.get("plotly_chart") if f"chart_{panel}" in chart.proto.id]
    figure = go.Figure(json.loads(chart.proto.spec))
    return [trace for trace in figure.data if trace.type == "scatter"]


def test_a_chart_draws_the_earlier_period_where_its_buckets_stand_now(warehouse: Path) -> None:
    [line] = lines(run(warehouse, "overview", **SECOND_HOUR), "outcome_groups")
    assert line.name == "previous period"
    known = {str(x)[11:16]: y for x, y in zip(line.x, line.y, strict=True) if y}
    assert known == {"12:00": 1, "12:01": 1, "12:02": 1, "12:03": 1}


def test_faint_lines_keep_their_gaps_and_are_no_more_than_can_be_read() -> None:
    names = [f"p{n}" for n in range(5)]
    past = timeline.Past("before", [1, 2], ["then", "later"], lines={name: [(1, 2), (None, None)] for name in names})
    figure = timeline.rates([3, 4], {name: [(1, 4), (2, 4)] for name in names}, unit="calls", past=past)
    faint = [trace for trace in figure.data if trace.legendgroup == "past"]
    assert len(faint) == timeline.MOST_FAINT
    assert [trace.showlegend for trace in faint] == [True, False, False]
    assert all(tuple(trace.y) == (0.5, None) for trace in faint)
