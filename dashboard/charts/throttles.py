"""Whether senders wait as Retry-After tells them."""

from collections.abc import Mapping

import plotly.graph_objects as go

from dashboard.charts import bars, histogram, style
from dashboard.charts.style import Row, Rows
from dashboard.charts.timeline import pattern, whole_ticks
from dashboard.escape import plotly
from dashboard.texts import tell

VERDICTS = {
    "early": (style.RED, ""),
    "on_time": (style.GREEN, ""),
    "late": (style.YELLOW, "/"),
    "never": (style.PURPLE, "x"),
    "pending": (style.GREY, "."),
}
"""What came of a Retry-After -> colour, pattern."""

FOLLOWED = ("early", "on_time", "late")


def verdicts(rows: Rows, titles: Mapping[str, str], unit: str) -> go.Figure:
    """Rows of the table `retry_after`: how the 429s that told a time to wait were followed, a row for each key."""
    shown = list(rows)[: style.MOST_ROWS]
    return bars.shares(
        [name(row) for row in shown],
        {titles[verdict]: [row[verdict] for row in shown] for verdict in VERDICTS},
        colours={titles[verdict]: colour for verdict, (colour, _) in VERDICTS.items()},
        patterns={titles[verdict]: shape for verdict, (_, shape) in VERDICTS.items()},
        unit=unit,
    )


def name(row: Row) -> str:
    """Who was told to wait, and where."""
    return " · ".join(str(part) for part in (row["key"], row["endpoint"]) if part)


def delays(rows: Rows, titles: Mapping[str, str]) -> go.Figure:
    """Steps of the wait as a share of Retry-After, each a column of early, timely and late requests."""
    names = [step(row) for row in rows]
    figure = go.Figure()
    for verdict in FOLLOWED:
        colour, shape = VERDICTS[verdict]
        values = [row[verdict] for row in rows]
        figure.add_bar(
            x=list(range(len(names))),
            y=values,
            name=plotly(titles[verdict]),
            marker={"color": colour, "line": {"width": 0}, "pattern": pattern(shape)},
            customdata=[(label, style.count(value)) for label, value in zip(names, values, strict=True)],
            hovertemplate=tell("chart.of_retry_after", share="%{customdata[0]}", n="%{customdata[1]}"),
        )
    style.frame(figure, 280)
    figure.update_layout(barmode="stack")
    histogram.edges(figure, [style.number(row["from_share"], "g") for row in rows])
    figure.update_yaxes(
        rangemode="tozero", **whole_ticks(max((sum(row[verdict] for verdict in FOLLOWED) for row in rows), default=0))
    )
    return figure


def step(row: Row) -> str:
    """0.25-0.5, or 10+."""
    low = style.number(row["from_share"], "g")
    return f"{low}+" if row["to_share"] is None else f"{low}-{style.number(row['to_share'], 'g')}"
