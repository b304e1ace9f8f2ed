"""What became of orders, how long acceptance took, and what went wrong with them."""

from collections.abc import Mapping

import plotly.graph_objects as go

from dashboard.charts import bars, histogram, style
from dashboard.charts.style import Row, Rows
from dashboard.charts.timeline import whole_ticks
from dashboard.texts import tell

UNKNOWN = "unknown"
"""Stands for a state that is NULL."""

STATES = {
    "lost": style.RED,
    "pending": style.GREY,
    UNKNOWN: style.YELLOW,
    "accepted_earlier": style.SKY,
    "accepted_after_retry": style.ORANGE,
    "accepted_first": style.BLUE,
}


def states(rows: Rows, titles: Mapping[str, str]) -> go.Figure:
    """A bar a state with its orders and their share of all."""
    whole = sum(row["orders"] for row in rows)
    return bars.counts(
        [titles[row["state"] or UNKNOWN] for row in rows],
        [row["orders"] for row in rows],
        [style.percent(style.ratio(row["orders"], whole)) for row in rows],
        colours=[STATES[row["state"] or UNKNOWN] for row in rows],
    )


def times(rows: Rows) -> go.Figure:
    """A column for each step of the time to accept."""
    names = [step(row) for row in rows]
    values = [row["orders"] for row in rows]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(names))),
            y=values,
            marker={"color": style.ORANGE, "line": {"width": 0}},
            text=[style.short(value) if value else "" for value in values],
            textposition="outside",
            cliponaxis=False,
            customdata=[(name, style.count(value)) for name, value in zip(names, values, strict=True)],
            hovertemplate=tell("chart.orders", name="%{customdata[0]}", n="%{customdata[1]}") + "<extra></extra>",
        )
    )
    style.frame(figure, 250, legend=False)
    figure.update_layout(margin={"t": 24})
    histogram.edges(figure, [edge(row["from_s"]) for row in rows])
    figure.update_yaxes(rangemode="tozero", **whole_ticks(max(values, default=0)))
    return figure


def step(row: Row) -> str:
    """1-5 s, 15 s-1 min, 24+ h."""
    low, unit = in_unit(row["from_s"])
    if row["to_s"] is None:
        return tell(f"shape.{unit}", value=f"{low}+")
    high, end = in_unit(row["to_s"])
    begin = str(low) if unit == end else tell(f"shape.{unit}", value=low)
    return tell(f"shape.{end}", value=f"{begin}-{high}")


def edge(seconds: int) -> str:
    """Where a column begins: 15 s."""
    value, unit = in_unit(seconds)
    return tell(f"shape.{unit}", value=value)


def in_unit(seconds: int) -> tuple[int, str]:
    """A time in the largest unit that it fills."""
    return next(
        (seconds // size, unit) for size, unit in ((3_600, "h"), (60, "min"), (1, "s")) if seconds >= size or size == 1
    )


def faults(rows: Rows, titles: Mapping[str, str]) -> go.Figure:
    """A bar a kind of fault with the number of orders that have it."""
    return bars.counts(
        [titles[row["fault"]] for row in rows],
        [row["faults"] for row in rows],
        [""] * len(rows),
        colours=style.RED,
        above=True,
    )
