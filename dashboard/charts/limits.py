"""Throttling: the share of requests answered 429."""

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.style import Rows
from dashboard.escape import name_of, plotly
from dashboard.texts import tell


def rates(rows: Rows) -> go.Figure:
    """Rows of the table `rate_limits`: a bar a partner or key and endpoint, most throttled first; zero is written."""
    shown = sorted(rows, key=lambda row: (-(row["rate"] or 0), -row["requests"]))[: style.MOST_ROWS]
    values = [row["rate"] or 0 for row in shown]
    names = [" · ".join(part for part in (name_of(row["partner"]), row["endpoint"]) if part) for row in shown]
    figure = go.Figure(
        go.Bar(
            x=values,
            y=list(range(len(shown))),
            orientation="h",
            marker={"color": [colour(row["rate"]) for row in shown], "line": {"width": 0}},
            text=[f"{style.percent(row['rate'])} · n {style.short(row['requests'])}" for row in shown],
            textposition="outside",
            cliponaxis=False,
            customdata=[
                (
                    plotly(label),
                    tell(
                        "chart.refused",
                        share=plotly(style.percent(row["rate"])),
                        limited=row["limited"],
                        requests=row["requests"],
                    ),
                )
                for label, row in zip(names, shown, strict=True)
            ],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
        )
    )
    style.frame(figure, style.rows_height(len(shown), legend=False), legend=False)
    style.category_rows(figure, names)
    figure.update_xaxes(visible=False, range=[0, max([*values, 0.01]) * 1.6])
    return figure


def colour(rate: float | None) -> str:
    """Refused, healthy, or neither is known."""
    return style.GREY if rate is None else style.RED if rate > 0 else style.GREEN
