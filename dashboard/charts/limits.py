"""Throttling: the share of requests answered 429."""

import plotly.graph_objects as go

from dashboard.charts import bars, style
from dashboard.charts.style import Rows
from dashboard.escape import name_of
from dashboard.texts import tell


def rates(rows: Rows) -> go.Figure:
    """Rows of the table `rate_limits`: a bar a partner or key and endpoint, most throttled first; zero is written."""
    shown = sorted(rows, key=lambda row: (-(row["rate"] or 0), -row["requests"]))[: style.MOST_ROWS]
    values = [row["rate"] or 0 for row in shown]
    names = [" · ".join(part for part in (name_of(row["partner"]), row["endpoint"]) if part) for row in shown]
    return bars.measured(
        names,
        values,
        [f"{style.percent(row['rate'])} · n {style.short(row['requests'])}" for row in shown],
        colours=[colour(row["rate"]) for row in shown],
        told=[
            [
                tell(
                    "chart.refused",
                    share=style.percent(row["rate"]),
                    limited=row["limited"],
                    requests=row["requests"],
                )
            ]
            for row in shown
        ],
        least=0.01,
    )


def colour(rate: float | None) -> str:
    """Refused, healthy, or neither is known."""
    return style.GREY if rate is None else style.RED if rate > 0 else style.GREEN
