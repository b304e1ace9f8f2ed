"""How full fixed windows got against their limit."""

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.style import Row, Rows
from dashboard.escape import plotly
from dashboard.texts import tell

MOST = 15
"""Keys drawn at most; the others came no closer to their limit."""


def peaks(rows: Rows) -> go.Figure:
    """Rows with `key`, `endpoint`, `utilisation`, `requests` and `limit` of each key's fullest window: a bar each.

    A dotted line stands at the limit; bars beyond it are red, and their text says so as well.
    """
    shown = list(rows)[:MOST]
    values = [row["utilisation"] or 0 for row in shown]
    figure = go.Figure(
        go.Bar(
            x=values,
            y=list(range(len(shown))),
            orientation="h",
            marker={"color": [style.RED if is_over(row) else style.BLUE for row in shown], "line": {"width": 0}},
            text=[used(row) for row in shown],
            textposition="outside",
            cliponaxis=False,
            customdata=[
                (
                    plotly(name(row)),
                    tell("chart.fullest", share=style.percent(row["utilisation"]), used=used(row)),
                    tell("chart.windows", n=row["windows"]),
                )
                for row in shown
            ],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
        )
    )
    figure.add_vline(x=1, line={"color": style.RED, "width": 1, "dash": "dot"})
    style.frame(figure, style.rows_height(len(shown), legend=False), legend=False)
    style.category_rows(figure, [name(row) for row in shown])
    figure.update_xaxes(visible=False, range=[0, max([*values, 1.0]) * 1.6])
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
