"""What a chart says to those who hear it: the figures that its largest or newest marks tell."""

from datetime import datetime, timedelta

from dashboard.charts import bars, latency, limits, retries, spoken, timeline

NOON = datetime(2026, 9, 14, 12)


def test_bars_tell_the_largest_first() -> None:
    names = [f"p{place}" for place in range(6)]
    figure = bars.counts(names, [1, 5, None, 3, 4, 2], ["", "half", "", "", "", ""])
    assert spoken.figures(figure) == ["p1, 5 half", "p4, 4", "p3, 3", "p5, 2"]


def test_lines_over_time_tell_their_newest_measured_value() -> None:
    hours = [NOON + timedelta(hours=hour) for hour in range(3)]
    figure = timeline.rates(hours, {"a": [(1, 4), (3, 4), (None, None)], "b": [(0, 2), (0, 2), (2, 2)]}, unit="calls")
    assert spoken.figures(figure) == [
        "a: 75.0%: 3 of 4 calls, 2026-09-14 13:00",
        "b: 100.0%: 2 of 2 calls, 2026-09-14 14:00",
    ]


def test_stacked_bars_and_marks_tell_one_figure_a_kind() -> None:
    stacked = timeline.stacked([NOON], {"bid": [3], "no-bid": [1]}, colours={}, patterns={}, unit="attempts")
    assert [text.split(":")[0] for text in spoken.figures(stacked)] == ["bid", "no-bid"]
    rows = [{"partner": "fast", "p50_ms": 5, "p95_ms": 9, "p99_ms": 10, "attempts": 7},
            {"partner": "slow", "p50_ms": 50, "p95_ms": 90, "p99_ms": 99, "attempts": 8}]  # fmt: skip
    assert spoken.figures(latency.quantiles(rows))[0] == "slow, median: 50.0 ms (n 8)"


def test_heatmap_tells_its_best_cells_and_leaves_out_empty_ones() -> None:
    cell = {"partner": "a", "trigger": "timeout", "retries": 100, "successes": 2, "success_rate": 0.02,
            "success_low": 0.01, "success_high": 0.09}  # fmt: skip
    figure = retries.heatmap([cell | {"retry_no": 1}, cell | {"retry_no": 3, "trigger": "reset"}], {})
    first, _ = spoken.figures(figure)
    assert "2 of 100 succeeded: 2.0%" in first


def test_names_are_told_letter_by_letter_and_cut() -> None:
    name = "<b>x</b> %{x} & $y$" + "w" * 500
    row = {"partner": name, "endpoint": None, "rate": 0.5, "limited": 1, "requests": 2}
    [text] = spoken.figures(limits.rates([row]))
    assert text.startswith("<b>x</b> %{x} & $y$www")
    assert len(text) <= spoken.LONGEST
