"""How full fixed windows got against their limit."""

import plotly.graph_objects as go

from dashboard.charts import bars, style
from dashboard.charts.style import Row, Rows
from dashboard.escape import plotly
from dashboard.texts import tell

MOST = 15
"""Keys drawn at most; the others came no closer to their limit."""

LIMIT_ROOM = 20
"""Pixels above the bars for the name of the strokes."""


def peaks(rows: Rows) -> go.Figure:
    """Rows with `key`, `endpoint`, `utilisation`, `requests` and `limit` of each key's fullest window: a bar each.

    A dotted stroke stands at the limit; bars beyond it are red, and their text says so as well.
    """
    shown = list(rows)[:MOST]
    values = [row["utilisation"] or 0 for row in shown]
    figure = bars.measured(
        [name(row) for row in shown],
        values,
        [used(row) for row in shown],
        colours=[style.RED if is_over(row) else style.BLUE for row in shown],
        told=[
            (
                tell("chart.fullest", share=style.percent(row["utilisation"]), used=used(row)),
                tell("chart.windows", n=row["windows"]),
            )
            for row in shown
        ],
        least=1.0,
    )
    limit: style.Item = {"type": "line", "x0": 1, "x1": 1, "line": {"color": style.RED, "width": 2, "dash": "dot"}}
    top: style.Item = {"x": 1, "y": 1, "yref": "paper", "yanchor": "bottom", "font": {"size": 11}}
    style.write(figure, [{"text": plotly(tell("windows.limit")), **top}])
    figure.update_layout(margin_t=LIMIT_ROOM, height=figure.layout.height + LIMIT_ROOM)
    style.outline(figure, [{"y0": row - 0.24, "y1": row + 0.32, **limit} for row in range(len(shown))])
    return figure


def name(row: Row) -> str:
    """Whose window, and where."""
    return " · ".join(str(part) for part in (row["key"], row["endpoint"]) if part)


def used(row: Row) -> str:
    """60 of 50, over the limit."""
    text = style.of(style.count(row["requests"]), style.count(row["limit"]))
    return tell("chart.over", used=text) if is_over(row) else text


def is_over(row: Row) -> bool:
    """Whether more came than the limit allows."""
    return row["utilisation"] is not None and row["utilisation"] > 1
