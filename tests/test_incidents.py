"""What happened, behind the charts: breakers that opened, bursts of 429, marks; and what a file of marks may hold."""

import csv
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dashboard import settings
from dashboard.charts import incidents as drawing
from dashboard.components import incidents, zoom
from dashboard.components.incidents import Group, Incident
from dashboard.marks import MOST_ROWS, Fault, Mark, Marks, place, read
from ingest.settings import Settings
from tests.loaded import Event, at, attempt, load, postback
from tests.shown import load_shown, proxied, unanswered
from tests.test_pages import leave_environment, run, words

__all__ = ["leave_environment"]
slow = pytest.mark.slow
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
MINUTE = 60
T0 = 1_789_383_600_000_000
"""2026-09-14T11:00:00Z"""


def minute(place: int, requests: int, limited: int, key: str = "k") -> list[Event]:
    """Postbacks of one minute, so many of them refused."""
    return [
        postback(at(MINUTE * place + n), key, f"o{place}-{n}", http_status=429 if n < limited else 200)
        for n in range(requests)
    ]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bursts of k in minutes 1-2 and 4 of 11:00; minute 3 has too small a share, minute 6 too few requests.

    A breaker of p is open from 11:02:00 to 11:03:00 on n, and from 11:08 on for good on m.
    """
    breaker = {"event": "breaker", "partner": "p"}
    events = [
        *(minute(0, 10, 0) + minute(1, 10, 2) + minute(2, 12, 12) + minute(3, 11, 2) + minute(4, 20, 4)),
        *minute(6, 9, 9),
        *(attempt(at(MINUTE * n), f"a{n}", node=node) for n in range(10) for node in ("n", "m")),
        breaker | {"ts": at(120), "node": "n", "state_from": "closed", "state_to": "open"},
        breaker | {"ts": at(180), "node": "n", "state_from": "open", "state_to": "closed"},
        breaker | {"ts": at(480), "node": "m", "state_from": "closed", "state_to": "open"},
    ]
    return load(tmp_path_factory.mktemp("incidents"), events)


def figure(test: AppTest, panel: str) -> go.Figure:
    """A chart as it reaches the page."""
    [chart] = [chart for chart in test.get("plotly_chart") if f"chart_{panel}" in chart.proto.id]
    return go.Figure(json.loads(chart.proto.spec))


def signs(chart: go.Figure, name: str) -> list[str]:
    """What the signs of a kind tell."""
    return [text for trace in chart.data if trace.name == name for text in trace.customdata]


def listed(test: AppTest) -> list[tuple[str, str]]:
    """Incidents of the page Breakers: kind, begin to end, the newest first."""
    frame = next(frame.value for frame in test.dataframe if {"incident", "limited"} <= {*frame.value})
    return [
        (
            row["incident"],
            f"{row['from']:%H:%M:%S} {row['to']:%H:%M:%S}" if row["lasted"] else f"{row['from']:%H:%M:%S}",
        )
        for _, row in frame.iterrows()
    ]


@slow
def test_bursts_are_runs_of_minutes_with_enough_requests_and_refusals(warehouse: Path) -> None:
    assert [row for row in listed(run(warehouse, "breakers")) if row[0] == "burst of 429"] == [
        ("burst of 429", "11:04:00 11:05:00"),
        ("burst of 429", "11:01:00 11:03:00"),
    ]


@slow
def test_the_thresholds_of_a_burst_are_settings(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRYLENS_BURST_MIN_REQUESTS", "9")
    monkeypatch.setenv("RETRYLENS_BURST_SHARE", "0.5")
    later = shutil.copytree(warehouse, warehouse.parent / "again")
    assert [row[1] for row in listed(run(later, "breakers")) if row[0] == "burst of 429"] == [
        "11:06:00 11:07:00",
        "11:02:00 11:03:00",
    ]


def test_readers_know_the_defaults_of_settings_that_older_snapshots_lack(tmp_path: Path) -> None:
    told = {name: value for name, value in Settings().rows() if name in settings.ADDED}
    assert told == settings.ADDED
    assert settings.in_force(tmp_path, {}, (), {}) == settings.ADDED


@slow
def test_openings_last_until_the_breaker_closes_or_the_range_ends(warehouse: Path) -> None:
    opened = [row[1] for row in listed(run(warehouse, "breakers")) if row[0] == "breaker open"]
    assert opened == ["11:08:00 11:09:00", "11:02:00 11:03:00"]


@slow
def test_every_chart_over_time_draws_them_and_says_so(warehouse: Path) -> None:
    for page, panel in (("overview", "outcome_groups"), ("limits", "limit_time"), ("limits", "window_time")):
        test = run(warehouse, page)
        told = signs(figure(test, panel), "burst of 429")
        assert any("k" in text and "openings or bursts: 1, 2.0 min in all" in text for text in told)
        assert "Behind the chart: ▼ breaker open: 2, ■ burst of 429: 2." in " ".join(words(test)).replace("\\", "")


@slow
def test_the_breakers_own_chart_leaves_out_what_it_shows_already(warehouse: Path) -> None:
    names = [trace.name for trace in figure(run(warehouse, "breakers"), "breaker_timeline").data]
    assert "breaker open" not in names
    assert "burst of 429" in names


@slow
def test_incidents_are_switched_off_by_the_address(warehouse: Path) -> None:
    test = run(warehouse, "overview", incidents="false")
    assert not any("Behind the chart" in word for word in words(test))
    assert all(trace.yaxis != "y2" for trace in figure(test, "outcome_groups").data)


@slow
def test_a_partners_page_has_its_own_incidents_alone(warehouse: Path) -> None:
    assert signs(figure(run(warehouse, "partner", name="p"), "outcome_time"), "burst of 429") == []


@slow
def test_a_chart_tells_its_incidents_in_its_table_and_in_its_words(warehouse: Path) -> None:
    test = run(warehouse, "overview")
    [chart] = [chart for chart in test.get("plotly_chart") if "chart_outcome_groups" in chart.proto.id]
    assert "Behind the chart: ▼ breaker open: 2, ■ burst of 429: 2." in chart.proto.alt
    assert "burst of 429, k, openings or bursts: 1, 2.0 min in all, 2026-09-14 11:01:00 - 2026-09-14 11:03:00" in (
        chart.proto.alt
    )
    [frame] = [frame.value for frame in test.dataframe if "times" in frame.value]
    told = [(row["incident"], row["name"], f"{row['from']:%H:%M}", row["times"]) for _, row in frame.iterrows()]
    assert told == [
        ("breaker open", "p", "11:08", 1),
        ("burst of 429", "k", "11:04", 1),
        ("breaker open", "p", "11:02", 1),
        ("burst of 429", "k", "11:01", 1),
    ]


@slow
def test_the_list_says_what_could_not_be_looked_for(tmp_path: Path) -> None:
    said = " ".join(words(run(load_shown(tmp_path, [*proxied(), *unanswered()]), "breakers"))).replace("\\", "")
    assert "Bursts of 429 could not be looked for with **counting**, **silent**, **k** and 1 more: which of" in said
    assert "Openings could not be looked for: the logs tell no breaker state" in said
    assert "None is known in this range." in said
    assert "no burst of 429 came" not in said


# Marks


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "marks.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_marks_are_read_in_utc_or_with_their_offset(tmp_path: Path) -> None:
    text = '\ufeffTS, Label ,partner\n2026-09-14T14:00:00+03:00,deploy,\n\n2026-09-14T11:30,"a, b",p\n2026-09-14,day\n'
    assert read(written(tmp_path, text)).marks == (
        Mark(T0 - 11 * 3_600_000_000, "day"),
        Mark(T0, "deploy"),
        Mark(T0 + 1_800_000_000, "a, b", "p"),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", Fault("no_header", 1, "")),
        ("when,what\n1,2\n", Fault("no_header", 1, "when,what")),
        ("ts,label\nsoon,x\n", Fault("bad_time", 2, "soon")),
        ("ts,label\n2026-09-14\n", Fault("no_label", 2)),
        ("label,ts\nx,2026-02-30\n", Fault("bad_time", 2, "2026-02-30")),
        ('ts,label\n2026-09-14,"a\nb"\n2026-09-14, \n', Fault("no_label", 4)),
        (b"ts,label\n2026-09-14,\xff\n", Fault("not_utf8", 2)),
        ("ts,label\n2026-09-14," + "x" * (1 << 20), Fault("too_large")),
        ("ts,label\n" + "2026-09-14,x\n" * (MOST_ROWS + 1), Fault("too_many", MOST_ROWS + 2)),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(tmp_path: Path, text: str | bytes, fault: Fault) -> None:
    assert read(written(tmp_path, text)).faults == (fault,)


def test_a_cell_that_csv_refuses_ends_the_file(tmp_path: Path) -> None:
    usual = csv.field_size_limit(100)
    try:
        found = read(written(tmp_path, f"ts,label\n2026-09-14,kept\n2026-09-14,{'x' * 200}\n2026-09-14,lost\n"))
    finally:
        csv.field_size_limit(usual)
    assert [mark.label for mark in found.marks] == ["kept"]
    assert found.faults == (Fault("not_csv", 3, "field larger than field limit (100)"),)


@hypothesis_settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_file_of_marks_breaks_the_reader(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        found = read(written(Path(folder), b"ts,label\n" + content))
    assert isinstance(found, Marks)


def test_no_file_is_no_marks_and_a_folder_is_a_fault(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere.csv") == Marks()
    assert [fault.kind for fault in read(tmp_path).faults] == ["unreadable"]
    assert place(tmp_path, {}) == tmp_path / "marks.csv"
    assert place(tmp_path, {"RETRYLENS_MARKS": "/else/m.csv"}) == Path("/else/m.csv")


@slow
def test_marks_stand_on_charts_and_faults_on_the_page_of_data(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "<img src=http://evil.invalid/x.png> ![x](http://evil.invalid/y.png)"
    text = f"ts,label,partner\n2026-09-14T11:05Z,{evil},\n2026-09-14T11:06Z,mine,p\n2026-09-13,before,\nsoon,{evil},\n"
    monkeypatch.setenv("RETRYLENS_MARKS", str(written(tmp_path, text)))
    told = signs(figure(run(warehouse, "overview"), "outcome_groups"), "mark")
    assert len(told) == 2
    assert "&lt;img" in told[0]
    assert "<img" not in told[0]
    assert "p: mine" in told[1]
    assert len(signs(figure(run(warehouse, "limits", partner="k"), "limit_time"), "mark")) == 1
    said = " ".join(words(run(warehouse, "data")))
    assert "Marks read: 3" in said
    assert "Line 5: soon is no time" in said


@slow
def test_serve_takes_a_file_of_marks_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "CURRENT").write_text("x\n")
    command = [
        sys.executable,
        "-m",
        "dashboard.cli",
        "serve",
        "--warehouse",
        str(tmp_path / "w"),
        "--marks",
        "none.csv",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "retrylens: none.csv: no such file; name the CSV of marks with --marks FILE\n"


# Together


@given(
    st.lists(st.tuples(st.sampled_from(["open", "burst"]), st.integers(0, 500), st.integers(0, 60)), max_size=60),
    st.integers(0, 20),
)
def test_groups_keep_every_incident_and_leave_only_gaps_that_can_be_seen(
    told: list[tuple[str, int, int]], gap: int
) -> None:
    found = incidents.groups([Incident(kind, start, start + length, "p") for kind, start, length in told], gap)
    for kind in ("open", "burst"):
        own = [group for group in found if group.kind == kind]
        mine = [one for one in told if one[0] == kind]
        assert sum(group.count for group in own) == len(mine)
        assert sum(group.lasted_us for group in own) == sum(length for _, _, length in mine)
        assert all(after.start_us > before.end_us + gap for before, after in pairwise(own))
        assert all(any(g.start_us <= start and start + n <= g.end_us for g in own) for _, start, n in mine)
    assert len(incidents.chosen(found)) == min(len(found), incidents.MOST_BANDS)


def test_marks_and_the_longest_bands_are_drawn_and_the_rest_is_told() -> None:
    bands = [Group("open", 100 * n, 100 * n + n, (f"p{n}",), 1, n) for n in range(40)]
    mark = Group("mark", 5, 5, ("deploy",), 1, 0)
    shown = incidents.chosen([*bands, mark])
    assert mark in shown
    assert {group.start_us for group in shown if group.kind == "open"} == {100 * n for n in range(17, 40)}
    assert incidents.note([*bands, mark], shown).endswith("breaker open: 23, ◆ mark: 1. Shorter ones not drawn: 17.")


def test_bands_take_the_whole_height_and_keep_the_charts_own_axis() -> None:
    start, end = datetime(2026, 9, 14, 11), datetime(2026, 9, 14, 12)
    chart = go.Figure(go.Bar(x=[start], y=[5])).update_layout(height=100)
    band = drawing.Band("open", start, end, ["breaker open", "p"])
    drawing.add(chart, [band, replace(band, kind="mark", lines=["mark", "x"])], {"open": "opened", "mark": "marked"})
    area, sign, line, diamond = chart.data[1:]
    assert tuple(area.x[:4]) == (start, start, end, end)
    assert (area.fill, area.hoverinfo, line.mode) == ("toself", "skip", "lines")
    assert (sign.name, diamond.name) == ("opened", "marked")
    assert {trace.yaxis for trace in chart.data[1:]} == {"y2"}
    assert chart.layout.yaxis2.overlaying == "y"


def test_bands_lie_behind_what_the_chart_shows_and_their_signs_before_it() -> None:
    start, end = datetime(2026, 9, 14, 11), datetime(2026, 9, 14, 12)
    chart = go.Figure(go.Bar(x=[start], y=[5])).update_layout(height=100)
    drawing.add(chart, [drawing.Band("burst", start, end, [])], {"burst": "burst of 429"})
    bars, area, sign = (trace.zorder or 0 for trace in chart.data)
    assert area < bars <= sign


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2026-09-14 12:41:40.3636", "2026-09-14 15:24", ("12:41", "15:24")),
        ("2026-09-14 15:24:00.0001", "2026-09-14 12:41", ("12:41", "15:25")),
        ("2026-09-14 12:41:10", "2026-09-14 12:41:20", ("12:41", "12:42")),
        ("2026-09-14 12:41", "2026-09-14 12:41", ("12:41", "12:42")),
        (3, 4, None),
    ],
)
def test_a_drag_chooses_whole_minutes_around_it(first: object, last: object, expected: tuple[str, str] | None) -> None:
    found = zoom.span(first, last)
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (f"{found.start:%H:%M}", f"{found.end:%H:%M}") == expected
