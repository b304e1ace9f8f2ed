"""The waterfall of an auction and the timeline of an order: what they draw, what they leave open, names stay names."""

import json

import pytest

from dashboard.charts import postbacks, waterfall
from dashboard.charts.postbacks import Post
from dashboard.charts.waterfall import Bar

WORDS = {
    "budget": "budget",
    "no_budget": "no budget",
    "reserve": "reserve from",
    "allowed": "given",
    "at_most": "at most",
    "unknown": "unknown",
}
WAITS = {"too_early": "too early", "in_time": "in time", "next": "next"}
HOSTILE = "<b>x</b> $y$ %{z}" + "w" * 500


def bar(group: str = "a", **values: object) -> Bar:
    given = {
        "label": "original", "outcome": "timeout", "title": "Timeout", "start_ms": 10.0, "took_ms": 120.0,
        "at_most_ms": None, "allowed_ms": 150.0, "budget_ms": 300.0, "sent": True,
    }  # fmt: skip
    return Bar(group, **(given | values))  # type: ignore[arg-type]


def post(label: str = "1", **values: object) -> Post:
    given = {"title": "refused", "colour": "#000000", "mark": "x", "at_s": 0.0, "answered_s": 0.0}
    return Post(label, **(given | values))  # type: ignore[arg-type]


def test_bars_start_when_sent_and_are_as_long_as_it_took() -> None:
    figure = waterfall.waterfall([bar(), bar(label="retry 1", start_ms=140.0, took_ms=30.0, outcome="bid")], 40, WORDS)
    drawn = {
        (base, x) for trace in figure.data if trace.name != "given" for base, x in zip(trace.base, trace.x, strict=True)
    }
    assert drawn == {(10.0, 120.0), (140.0, 30.0)}
    assert {shape.x0 for shape in figure.layout.shapes} == {260.0, 300.0}
    assert list(figure.layout.yaxis.ticktext) == ["", "original · Timeout", "retry 1 · Timeout"]
    assert "a" in [note.text for note in figure.layout.annotations]


def test_unknown_length_is_never_drawn_as_none() -> None:
    unknown = bar(took_ms=None)
    bounded = bar(took_ms=None, at_most_ms=90.0)
    figure = waterfall.waterfall([unknown, bounded], 40, WORDS)
    [points] = [trace for trace in figure.data if trace.type == "scatter"]
    assert [(x, text.strip()) for x, text in zip(points.x, points.text, strict=True)] == [(10.0, "unknown")]
    [pale] = [trace for trace in figure.data if trace.type == "bar" and trace.name != "given"]
    assert (list(pale.x), list(pale.text), pale.marker.opacity) == ([90.0], ["at most 90 ms"], 0.45)


def test_an_attempt_that_was_not_sent_is_a_mark_without_a_time() -> None:
    figure = waterfall.waterfall([bar(sent=False, took_ms=None, outcome="not_sent_breaker")], 40, WORDS)
    [points] = figure.data
    assert (list(points.marker.symbol), list(points.text)) == (["x"], [""])


def test_each_budget_is_drawn_beside_the_attempts_that_have_it() -> None:
    lines = [bar("a"), bar("b", budget_ms=200.0), bar("c", budget_ms=None)]
    figure = waterfall.waterfall(lines, 40, WORDS)
    assert {(shape.x0, shape.y0, shape.y1) for shape in figure.layout.shapes if shape.type == "line"} == {
        (260.0, -0.5, 1.5), (300.0, -0.5, 1.5), (160.0, 1.5, 3.5), (200.0, 1.5, 3.5),
    }  # fmt: skip
    names = [note.text for note in figure.layout.annotations]
    assert names == ["a · 300 ms", "b · 200 ms", "c · no budget", "reserve from 260 · budget 300 ms"]


def test_waits_are_bands_and_the_next_request_a_stroke() -> None:
    told = post(answered_s=0.1, early_s=29.1, timely_s=60.1, next_s=2.2)
    figure = postbacks.timeline([told, post("2", at_s=40.0)], WAITS)
    early, timely, stroke, marks = figure.data
    assert (early.base[0], early.x[0]) == (0.1, 29.0)
    assert (timely.base[0], timely.x[0]) == (29.1, 31.0)
    assert list(stroke.x) == [2.2]
    assert list(marks.x) == [0.0, 40.0]


def test_a_short_wait_has_no_time_that_is_too_early() -> None:
    figure = postbacks.timeline([post(early_s=0.0, timely_s=1.5), post("2", at_s=9.0)], WAITS)
    assert [trace.name for trace in figure.data] == ["in time", None]


@pytest.mark.parametrize(
    ("posts", "seconds"),
    [
        ([post()], 0.001),
        ([post(), post("2", at_s=5.0)], 5.0),
        ([post(early_s=9.0, timely_s=20.0)], 20.0),
        ([post(early_s=9.0, timely_s=20.0), post("2", at_s=1.0)], 4.0),
    ],
)
def test_far_waits_do_not_press_the_requests_together(posts: list[Post], seconds: float) -> None:
    assert postbacks.reach(posts) == seconds


@pytest.mark.parametrize(
    "figure",
    [
        waterfall.waterfall([bar(HOSTILE, label=HOSTILE, title=HOSTILE)], 40, dict.fromkeys(WORDS, HOSTILE)),
        postbacks.timeline([post(HOSTILE, title=HOSTILE, early_s=3.0, timely_s=4.0)], dict.fromkeys(WAITS, HOSTILE)),
    ],
    ids=["waterfall", "postbacks"],
)
def test_names_stay_text(figure: object) -> None:
    spec = json.dumps(figure.to_plotly_json(), default=str)  # type: ignore[attr-defined]
    assert "<b>" not in spec
    assert "$y" not in spec
    assert "%{z}" not in spec
    assert "w" * 70 not in spec
