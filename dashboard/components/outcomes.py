"""How attempts end, over time."""

from collections.abc import Mapping

from dashboard.charts import outcomes as charts
from dashboard.charts import style, timeline
from dashboard.components import buckets, data, past, timechart
from dashboard.components.buckets import Series
from dashboard.components.shapes import Sum
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.texts import tell, title

GROUP = (
    "grp",
    "case when outcome in ('bid', 'no_bid', 'answered_unknown', 'cancelled') then outcome "
    "when outcome like 'not_sent%' then 'not_sent' else 'failure' end",
)
GROUPS = {
    "bid": (style.BLUE, ""),
    "no_bid": (style.SKY, ""),
    "answered_unknown": (style.SKY, "."),
    "failure": (style.RED, ""),
    "cancelled": (style.GREEN, "/"),
    "not_sent": (style.GREY, ""),
}


def groups_over_time(view: View, filters: Filters) -> None:
    """Attempts by what kind of end they had: the sum over all partners at a glance."""
    series = buckets.series(view, "outcomes", filters=filters, shape=Sum((GROUP,), ("attempts",)))
    before = past.series(view, "outcomes", filters=filters, shape=Sum((), ("attempts",)))
    timechart.show(
        view,
        filters,
        "outcome_groups",
        series.result,
        lambda: timeline.stacked(
            series.times,
            named(series, "grp", {name: title("ending", name) for name in GROUPS}),
            colours={title("ending", name): colour for name, (colour, _) in GROUPS.items()},
            patterns={title("ending", name): shape for name, (_, shape) in GROUPS.items()},
            unit=tell("unit.attempts"),
            past=past.total(view, before, "attempts"),
        ),
        metrics=("outcomes.attempts",),
        n=series.result.total("attempts"),
        unit=tell("unit.attempts"),
    )


def over_time(view: View, filters: Filters) -> None:
    """Attempts by outcome, bids at the bottom, what was not sent at the top."""
    series = buckets.series(view, "outcomes", filters=filters, shape=Sum(("outcome",), ("attempts",)))
    before = past.series(view, "outcomes", filters=filters, shape=Sum((), ("attempts",)))
    texts = data.outcome_texts(view.snapshot)
    titles = {name: str(texts.get(name, {}).get("title") or name) for name in charts.OUTCOMES}
    timechart.show(
        view,
        filters,
        "outcome_time",
        series.result,
        lambda: timeline.stacked(
            series.times,
            named(series, "outcome", titles),
            colours={titles[name]: colour for name, (colour, _) in charts.OUTCOMES.items()},
            patterns={titles[name]: shape for name, (_, shape) in charts.OUTCOMES.items()},
            unit=tell("unit.attempts"),
            past=past.total(view, before, "attempts"),
        ),
        metrics=("outcomes.attempts",),
        n=series.result.total("attempts"),
        unit=tell("unit.attempts"),
    )


def named(series: Series, column: str, titles: Mapping[str, str]) -> Mapping[str, list[int]]:
    """Attempts of each bucket by a column, under the titles of its values and in their order."""
    found = buckets.filled(series.column(lambda row: str(row[column]), "attempts"))
    return {title: found[name] for name, title in titles.items() if name in found}
