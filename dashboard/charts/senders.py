"""Clocks of senders against ours."""

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.style import Rows
from dashboard.escape import plotly
from dashboard.texts import tell

MARKS = (("skew_p50_s", None, style.BLUE, "circle"), ("skew_p99_s", 99, style.RED, "triangle-right"))
STALE_S = 300
LEAST_S = 0.01
"""Where a smaller skew, or none, is drawn: the axis is logarithmic."""

MOST = 20
TICKS = (0.01, 0.1, 1, 10, 100, 1_000, 10_000)


def skews(rows: Rows) -> go.Figure:
    """Rows of the table `signatures` whose skew is known: its median and 99th percentile in seconds, whichever way.

    The dotted line is where a signature gets stale.
    """
    shown = list(rows)[:MOST]
    figure = go.Figure()
    for column, share, colour, mark in MARKS:
        label = style.percentile(share) if share else tell("chart.median")
        figure.add_scatter(
            x=[max(row[column], LEAST_S) for row in shown],
            y=list(range(len(shown))),
            mode="markers",
            name=label,
            marker={"symbol": mark, "size": 10, "color": colour},
            customdata=[(plotly(row["key"]), seconds(row[column])) for row in shown],
            hovertemplate=f"%{{customdata[0]}}<br>{label}: %{{customdata[1]}}<extra></extra>",
        )
    style.upright(figure, STALE_S, tell("chart.stale", after=tell("shape.s", value=STALE_S)), logarithmic=True)
    style.frame(figure, style.rows_height(len(shown)))
    style.category_rows(figure, [row["key"] for row in shown])
    style.name_room(figure, len(shown))
    figure.update_xaxes(
        type="log",
        tickmode="array",
        tickvals=TICKS,
        ticktext=[tell("shape.s", value=style.number(tick, ",")) for tick in TICKS],
    )
    return figure


def seconds(value: float | None) -> str:
    """12.4 s; unknown is said."""
    return style.unknown() if value is None else tell("shape.s", value=style.number(value, ",.1f"))
