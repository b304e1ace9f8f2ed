"""Answer times of partners: the middle, the slow end and the very slow end."""

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.style import Rows
from dashboard.escape import plotly
from dashboard.texts import tell

QUANTILES = (
    ("p50_ms", None, style.BLUE, "circle"),
    ("p95_ms", 95, style.ORANGE, "diamond"),
    ("p99_ms", 99, style.RED, "triangle-right"),
)


def quantiles(rows: Rows) -> go.Figure:
    """Rows of the table `latency`: three marks a partner on one line, in milliseconds."""
    shown = list(rows)[: style.MOST_ROWS]
    figure = go.Figure()
    style.join_marks(figure, [(row["p50_ms"], row["p99_ms"]) for row in shown])
    milliseconds = tell("shape.ms", value="%{customdata[1]}")
    for column, share, colour, mark in QUANTILES:
        name = style.percentile(share) if share else tell("chart.median")
        figure.add_scatter(
            x=[row[column] for row in shown],
            y=list(range(len(shown))),
            mode="markers",
            name=name,
            marker={"symbol": mark, "size": 10, "color": colour},
            customdata=[
                (
                    plotly(row["partner"]),
                    style.number(row[column], ",.1f"),
                    style.count(row["attempts"]),
                )
                for row in shown
            ],
            hovertemplate=f"%{{customdata[0]}}<br>{name}: {milliseconds} (n %{{customdata[2]}})<extra></extra>",
        )
    style.frame(figure, style.rows_height(len(shown)))
    style.category_rows(figure, [row["partner"] for row in shown])
    figure.update_xaxes(rangemode="tozero", ticksuffix=tell("shape.ms", value=""), nticks=6)
    return figure
