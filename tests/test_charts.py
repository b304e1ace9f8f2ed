"""Charts are functions from rows to figures: what they draw, what they leave open, and that names stay names."""

import json
import re
from datetime import datetime, timedelta
from typing import Any

import plotly.graph_objects as go
import pytest

from dashboard.charts import bars, breakers, funnel, latency, limits, no_bids, retries, style, timeline
from dashboard.components import attention
from dashboard.components.buckets import Series
from dashboard.components.data import Result
from dashboard.components.retries import verdict_note
from dashboard.escape import BLANK, LABEL_LIMIT, brief, markdown, plain, plotly
from dashboard.texts import say

NOON = datetime(2026, 9, 14, 12)
HOURS = [NOON + timedelta(hours=hour) for hour in range(4)]


# Escapes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("dsp-a", "dsp-a"),
        ("  two   words\n", "two words"),
        ("a\x00b\x1b[31m", "a\ufffdb\ufffd[31m"),
        ("left\u202eright", "left\ufffdright"),
        ("half \ud800", "half \ufffd"),
        ("", ""),
        (" \t\n ", "\u2423"),
        ("Vi\u1ec7t e\u0323\u0302\u0301", "Vi\u1ec7t e\u0323\u0302\u0301"),
        ("\u00fcber \U0001f600", "\u00fcber \U0001f600"),
        ("x" * 60, "x" * 60),
    ],
)
def test_plain_shows_one_visible_line(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_marks_do_not_pile_up_and_such_names_stay_apart() -> None:
    one, two = plain("Z" + "\u0301" * 9), plain("Z" + "\u0301" * 10)
    assert one[:-5] == two[:-5] == "Z\u0301\u0301\u0301\u2026"
    assert one != two


def test_long_names_are_cut_and_stay_apart() -> None:
    one, two = plain("a" * 10_000 + "1"), plain("a" * 10_000 + "2")
    assert len(one) <= LABEL_LIMIT
    assert one != two
    assert brief("a" * 100, 10) == "a" * 9 + "…"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("![x](http://e.example)", "\\!\\[x\\]\\(http\\:\u2060\\/\\/e\\.example\\)"),
        (":red[x]", "\\:\u2060red\\[x\\]"),
        ("$x$", "\\$x\\$"),
        ("<b>", "\\<b\\>"),
        ("a@b.example", "a\\@\u2060b\\.example"),
        ("www.e.example", "www\u2060\\.e\\.example"),
        ("a->b", "a\\-\u2060\\>b"),
        ("12:30:45", "12\\:30\\:45"),
    ],
)
def test_markdown_escapes_every_mark(text: str, escaped: str) -> None:
    assert markdown(text) == escaped


def test_plotly_escapes_tags_templates_and_formulas() -> None:
    assert plotly("<b>%{x}</b> $y$ & z") == "&lt;b&gt;%&#123;x&#125;&lt;/b&gt; &#36;y&#36; &amp; z"


# Numbers


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "unknown"), (0, "0.0%"), (0.0004, "<0.1%"), (0.123, "12.3%"), (0.9999, ">99.9%"), (1, "100.0%")],
)
def test_percent(value: float | None, shown: str) -> None:
    assert style.percent(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "unknown"), (0, "0"), (9_999, "9,999"), (12_400, "12.4k"), (1_234_567, "1.2M")]
)
def test_short_counts(value: int | None, shown: str) -> None:
    assert style.short(value) == shown


def test_count_and_ratio_keep_unknown_apart_from_zero() -> None:
    assert (style.count(None), style.count(0), style.count(1_234_567)) == ("unknown", "0", "1,234,567")
    assert (style.ratio(0, 5), style.ratio(None, 5), style.ratio(3, 0)) == (0, None, None)


# Charts


def test_funnel_names_a_stage_without_evidence() -> None:
    rows = [
        {"position": 2, "stage": "sent", "count": 8, "of_previous": 0.8},
        {"position": 1, "stage": "considered", "count": 10, "of_previous": None},
        {"position": 3, "stage": "clicked", "count": None, "of_previous": None},
    ]
    bar = funnel.stages(rows).data[0]
    assert list(bar.x) == [10, 8, 0]
    assert list(bar.text) == ["10", "8 · 80.0%", "unknown"]


def test_rates_leave_gaps_where_nothing_was_measured_and_draw_zero() -> None:
    figure = timeline.rates(HOURS, {"a": [(0, 10), (None, None), (5, 10), (0, 0)]}, unit="requests")
    assert list(figure.data[0].y) == [0.0, None, 0.5, None]
    assert figure.data[0].connectgaps is False


def test_lone_points_get_marks() -> None:
    assert timeline.alone([None, 0.5, None])
    assert not timeline.alone([0.1, 0.5, None])


def test_stacked_bars_tell_share_and_n() -> None:
    figure = timeline.stacked(
        HOURS[:2], {"bid": [3, 0], "no-bid": [1, 4]}, colours={}, patterns={"bid": "/"}, unit="attempts"
    )
    assert list(figure.data[0].y) == [3, 0]
    assert tuple(figure.data[0].customdata[0]) == ("3", "4", "75.0%")
    assert figure.data[0].marker.pattern.shape == "/"


def test_heatmap_tells_rate_n_and_interval_and_leaves_unmade_retries_empty() -> None:
    rows = [retry("a", "timeout", 1, 100, 2), retry("a", "timeout", 2, 10, 5), retry("b", "reset", 1, 4, 4)]
    figure = retries.heatmap(rows, {"timeout": "Timeout"})
    cells = figure.data[0]
    assert [list(line) for line in cells.z] == [[0.01, 0.01], [0.01, None]]
    assert re.sub("<[^>]+>", "|", cells.text[0][0]) == "2.0%||1-9|n 100|"
    assert "interval 1.0% to 9.0%" in cells.customdata[0][0]
    assert cells.text[1][1] == ""


def retry(partner: str, trigger: str, number: int, made: int, good: int) -> dict[str, Any]:
    return {
        "partner": partner, "trigger": trigger, "retry_no": number, "retries": made, "successes": good,
        "success_rate": good / made, "success_low": 0.01, "success_high": 0.09,
    }  # fmt: skip


def test_unknown_amplification_is_written() -> None:
    rows = [call("known", 1.05), call("over", 1.3), call("dark", None)]
    figure = retries.amplification(rows)
    assert list(figure.data[0].x) == [1.05, 1.3, None]
    assert list(figure.data[0].marker.symbol)[:2] == ["circle", "triangle-right"]
    assert [note.text for note in figure.layout.annotations if note.text == "unknown"] == ["unknown"]
    assert {shape.x0 for shape in figure.layout.shapes} == {1.10, 1.20}


def call(partner: str, amplification: float | None) -> dict[str, Any]:
    return {
        "partner": partner, "amplification": amplification, "attempts_sent": 10, "calls_sent": 9,
        "actual_success": 0.5, "effective_success": 0.9, "judged_attempts": 8, "judged_calls": 7,
    }  # fmt: skip


def test_fate_starts_with_what_was_recovered() -> None:
    rows = [
        {"partner": "a", "fate": fate, "calls": number}
        for number, fate in enumerate(("not_retried", "recovered_10", "recovered_2", "exhausted", "recovered_4"), 1)
    ]
    drawn = retries.fate(rows).data
    assert [trace.name for trace in drawn] == ["recovered 2", "recovered 4 or later", "exhausted", "not retried"]
    assert [trace.customdata[0][3] for trace in drawn] == ["3", "7", "4", "1"]


def lanes(rows: list[dict[str, Any]], start: datetime, end: datetime) -> go.Figure:
    """The timeline of intervals, none of which is joined to another."""
    return breakers.timeline(breakers.pieces(rows, start, end, timedelta(0)), start, end, {})


def test_breakers_draw_closed_and_cut_to_the_range() -> None:
    rows = [
        interval("closed", NOON - timedelta(days=3), NOON + timedelta(hours=1)),
        interval("open", NOON + timedelta(hours=1), NOON + timedelta(hours=1, seconds=3)),
        interval("closed", NOON + timedelta(hours=1, seconds=3), None),
    ]
    figure = lanes(rows, NOON, NOON + timedelta(hours=4))
    closed, opened, marks = figure.data
    assert (closed.name, opened.name) == ("closed", "open")
    assert list(closed.base) == [NOON, NOON + timedelta(hours=1, seconds=3)]
    assert list(opened.x) == [3_000]
    assert list(marks.x) == [NOON + timedelta(hours=1)]


def test_more_lanes_than_a_chart_holds_are_left_out() -> None:
    rows = [interval("open", NOON, None) | {"partner": f"p{place}"} for place in range(style.MOST_ROWS + 5)]
    figure = lanes(rows, NOON, HOURS[1])
    assert len(figure.layout.yaxis.ticktext) == style.MOST_ROWS
    assert sorted(figure.data[0].y) == list(range(style.MOST_ROWS))


def test_the_reference_breaker_has_a_lane_of_its_own_above_the_reported() -> None:
    rows = [
        interval("closed", NOON, None),
        interval("open", NOON, None) | {"kind": "expected", "node": None},
        interval("closed", NOON, None) | {"partner": "b"},
    ]
    figure = lanes(rows, NOON, HOURS[1])
    assert list(figure.layout.yaxis.ticktext) == ["expected · a", "a · n1", "b · n1"]


def test_a_lane_of_names_that_are_only_spaces_can_be_seen() -> None:
    figure = lanes([interval("open", NOON, None) | {"partner": " ", "node": "  "}], NOON, HOURS[1])
    assert list(figure.layout.yaxis.ticktext) == [f"{BLANK} · {BLANK}"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (0.02, "20.0 ms"),
        (2.5, "2.5 s"),
        (41.2, "41 s"),
        (90, "1.5 min"),
        (9_000, "2.5 h"),
        (1e6, "11.6 days"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float, shown: str) -> None:
    assert breakers.duration(seconds) == shown


def interval(state: str, begin: datetime, end: datetime | None) -> dict[str, Any]:
    return {
        "partner": "a", "node": "n1", "kind": "reported", "state": state, "from": begin, "to": end,
        "attempts": 5, "failures": 1, "blocked": 0,
    }  # fmt: skip


def test_no_bid_reasons_carry_their_class() -> None:
    rows = [
        {"reason": "5", "name": "Cloud, Data Center, or Proxy IP", "class": "traffic", "no_bids": 3},
        {"reason": "no_reason", "name": "No reason given", "class": "none", "no_bids": 1},
    ]
    bar = no_bids.reasons(rows).data[0]
    assert bar.text[0] == "3 · 75.0% · traffic"
    assert bar.customdata[0][0] == "5 · Cloud, Data Center, or Proxy IP"


HOSTILE = "<b>x</b> $y$ %{z}" + "w" * 500


@pytest.mark.parametrize(
    "figure",
    [
        bars.counts([HOSTILE], [1], [HOSTILE]),
        bars.shares([HOSTILE], {HOSTILE: [1]}, colours={}, patterns={}, unit="calls"),
        timeline.stacked(HOURS[:1], {HOSTILE: [1]}, colours={}, patterns={}, unit="calls"),
        timeline.rates(HOURS[:1], {HOSTILE: [(1, 2)]}, unit="calls", budgets={HOSTILE: 1.0}),
        retries.heatmap([retry(HOSTILE, HOSTILE, 1, 2, 1)], {}),
        retries.amplification([call(HOSTILE, 1.0)]),
        retries.actual_and_effective([call(HOSTILE, 1.0)]),
        retries.fate([{"partner": HOSTILE, "fate": HOSTILE, "calls": 1}]),
        lanes([interval("open", NOON, None) | {"partner": HOSTILE, "node": HOSTILE}], NOON, HOURS[1]),
        no_bids.reasons([{"reason": HOSTILE, "name": HOSTILE, "class": HOSTILE, "no_bids": 1}]),
        no_bids.by_partner([{"partner": HOSTILE, "class": "cap", "no_bids": 1}]),
        limits.rates([{"partner": HOSTILE, "endpoint": HOSTILE, "rate": 0.5, "limited": 1, "requests": 2}]),
        latency.quantiles([{"partner": HOSTILE, "p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0, "attempts": 9}]),
    ],
    ids=lambda figure: figure.data[0].type,
)
def test_names_stay_text_in_every_chart(figure: go.Figure) -> None:
    spec = json.dumps(figure.to_plotly_json(), default=str)
    assert "<b>" not in spec
    assert "$y" not in spec
    assert "%{z}" not in spec
    assert "w" * 70 not in spec


# Findings


def flag(partner: str, trigger: str, verdict: str, a_day: float = 10) -> dict[str, Any]:
    return {
        "stream": "exchange", "partner": partner, "trigger": trigger, "verdict": verdict, "retries": 100,
        "successes": 0, "upper_bound": 0.03, "retries_per_day": a_day, "ms_saved_per_day": 1000, "bids_at_risk": 0,
    }  # fmt: skip


def test_findings_are_ranked_by_load_and_name_rollups_only_alone() -> None:
    flags = [
        flag("a", "timeout", "disable", 5), flag("b", "no_bid", "never", 50), flag("*", "timeout", "disable", 55),
        flag("*", "reset", "disable", 9), flag("*", "*", "keep"), flag("c", "timeout", "keep"),
    ]  # fmt: skip
    found = attention.findings(flags, [], [], 0, {}, 7)
    assert [(one.text, one.partner) for one in found] == [("never", "b"), ("disable_all", ""), ("disable", "a")]


def test_retries_and_throttling_share_one_ranking_by_requests_in_vain() -> None:
    flags = [flag("a", "timeout", "disable", 5), flag("b", "no_bid", "never", 50)]
    limits = [
        {"stream": "exchange", "partner": name, "endpoint": None, "limited": n, "requests": 1_000, "rate": n / 1_000}
        for name, n in (("c", 140), ("d", 14))
    ]
    found = attention.findings(flags, [], limits, 0, {}, 7, range_days=7)
    assert [one.partner for one in found] == ["b", "c", "a", "d"]
    assert found[1].values["per_day"] == "20"
    assert attention.findings([], [], limits, 0, {}, 7, range_days=1 / 24)[0].values["per_day"] == "140"


def test_a_finding_tells_what_one_retry_costs() -> None:
    [told] = attention.bad_retries([flag("slowdsp", "timeout", "disable", 25)], {"timeout": "Timeout"}, 7)
    said = say(f"finding.{told.text}", **told.values).replace("\\", "")
    assert said == (
        "Retries to **slowdsp** after **Timeout**: 0 of 100 succeeded in 7 days (at most 3.0% in truth), 25 a day, "
        "at least 40.0 ms a retry. Switch them off."
    )
    [silent] = attention.bad_retries([flag("q", "timeout", "never") | {"ms_saved_per_day": None}], {}, 7)
    assert "10 a day. What was refused" in say(f"finding.{silent.text}", **silent.values)


def test_open_breakers_come_first_and_count_their_nodes() -> None:
    rows = [
        interval("open", NOON, None),
        interval("closed", NOON, None) | {"node": "n2"},
        interval("open", NOON, HOURS[1]) | {"partner": "closed again"},
    ]
    end_us = int((NOON - datetime(1970, 1, 1)).total_seconds() + 60) * 1_000_000
    first = attention.findings([flag("b", "no_bid", "never")], rows, [], end_us, {}, 7)[0]
    assert (first.text, first.values["open"], first.values["nodes"], first.values["lasted"]) == (
        "open",
        1,
        2,
        "1.0 min",
    )


@pytest.mark.parametrize(
    ("limited", "requests", "told"), [(9, 10, False), (10, 1_001, False), (10, 1_000, True), (0, 50, False)]
)
def test_throttling_needs_ten_refusals_and_one_per_cent(limited: int, requests: int, told: bool) -> None:
    row = {"stream": "postback", "partner": "k", "endpoint": "/p", "limited": limited, "requests": requests,
           "rate": limited / requests}  # fmt: skip
    assert bool(attention.throttled([row])) is told


# Reading


def test_texts_of_bars_without_length_stand_outside() -> None:
    bar = bars.counts(["a", "b", "c", "d"], [100, 0, None, 3], ["", "", "", ""]).data[0]
    assert list(bar.textposition) == ["auto", "outside", "outside", "outside"]
    assert list(bar.text) == ["100", "0", "unknown", "3"]


def test_inside_texts_suit_their_bar() -> None:
    assert (style.ink("#000000"), style.ink("#FFFFFF"), style.ink(style.BLUE)) == ("#FFFFFF", "#000000", "#FFFFFF")
    bar = bars.counts(["a", "b"], [2, 2], ["", ""], colours=[style.BLUE, style.YELLOW]).data[0]
    assert list(bar.insidetextfont.color) == ["#FFFFFF", "#000000"]


@pytest.mark.parametrize(
    ("top", "ticks"), [(0, (1, ",.0f")), (9, (1, ",.0f")), (10, (None, ",.0f")), (1_000, (None, "~s"))]
)
def test_counts_have_ticks_at_whole_numbers(top: int, ticks: tuple[int | None, str]) -> None:
    axis = timeline.stacked(HOURS[:1], {"a": [top]}, colours={}, patterns={}, unit="calls").layout.yaxis
    assert (axis.dtick, axis.tickformat) == ticks


def test_heatmap_with_many_numbers_keeps_n() -> None:
    rows = [retry("a", "timeout", number, 14, 6) for number in range(1, retries.MOST_TOLD + 2)]
    text = retries.heatmap(rows, {}).data[0].text[0][0]
    assert re.sub("<[^>]+>", "|", text) == "43||14|"


def test_success_is_told_of_what_was_judged() -> None:
    actual, effective = retries.actual_and_effective([call("a", 1.1)]).data
    assert tuple(actual.customdata[0]) == ("a", "50.0%", "8")
    assert tuple(effective.customdata[0]) == ("a", "90.0%", "7")


def test_highest_ratio_comes_first_and_names_without_one_are_left_out() -> None:
    rows = [
        {"at": NOON, "partner": partner, "part": part, "whole": whole}
        for partner, part, whole in (("busy", 100, 100), ("high", 6, 4), ("equal", 3, 2), ("none", 0, 0))
    ]
    result = Result("calls", tuple(rows[0]), (), [tuple(row.values()) for row in rows], "")
    start = int((NOON - datetime(1970, 1, 1)).total_seconds()) * 1_000_000
    series = Series(result, [start], [NOON])
    assert series.highest(lambda row: str(row["partner"]), "part", "whole") == ["high", "equal", "busy"]


def test_rollups_do_not_add_to_what_is_switched_off() -> None:
    rollup, one, fine = flag("*", "timeout", "disable"), flag("a", "timeout", "disable"), flag("a", "reset", "keep")
    assert verdict_note([rollup, one, fine], "7").startswith("Pairs of partner and trigger to switch off: 1 of 2;")
    assert "of the rows with *, which add them up, 1 should" in verdict_note([rollup, fine], "7")
    assert verdict_note([fine], "7").startswith("Nothing to switch off.")
