"""One auction on its time budget: when each attempt ran, how it ended, and where the deadline lay."""

from datetime import datetime

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.outcomes import OUTCOMES
from dashboard.charts.style import Row, Rows
from dashboard.charts.timeline import pattern
from dashboard.escape import plotly


def waterfall(rows: Rows, titles: dict[str, str], reserve_ms: float) -> go.Figure:
    """Rows of the table `attempts` of one auction; times in ms since the auction began, as far as the log tells."""
    begin = origin(rows)
    bars = sorted(((started(row, begin), row) for row in rows), key=lambda bar: bar[0])
    figure = go.Figure()
    for outcome in OUTCOMES:
        places = [index for index, (_, row) in enumerate(bars) if row["outcome"] == outcome]
        if not places:
            continue
        colour, shape = OUTCOMES[outcome]
        figure.add_bar(
            base=[bars[index][0] for index in places],
            x=[float(bars[index][1]["latency_ms"] or 0) for index in places],
            y=places,
            orientation="h",
            name=plotly(titles.get(outcome, outcome)),
            marker={"color": colour, "line": {"color": colour, "width": 2}, "pattern": pattern(shape)},
            text=[ms(bars[index][1]["latency_ms"]) for index in places],
            textposition="outside",
            cliponaxis=False,
            customdata=[plotly(bars[index][1]["partner"]) for index in places],
            hovertemplate="%{customdata}<br>sent at %{base:,.1f} ms, took %{text}",
        )
    budget = next((float(row["budget_ms"]) for row in rows if row["budget_ms"] is not None), None)
    if budget is not None:
        for value, text in ((budget - reserve_ms, "budget - reserve"), (budget, "budget")):
            figure.add_vline(
                x=value,
                line={"color": style.RED, "width": 1, "dash": "dot" if value < budget else "solid"},
                annotation={"text": text, "font": {"size": 11}, "textangle": 0, "xanchor": "right"},
                annotation_position="top left",
            )
    style.frame(figure, style.rows_height(len(bars)) + 30)
    style.category_rows(figure, [f"{row['partner']} · {index + 1}" for index, (_, row) in enumerate(bars)])
    figure.update_layout(barmode="overlay")
    end = max([budget or 1, *(left + float(row["latency_ms"] or 0) for left, row in bars)])
    figure.update_xaxes(range=[0, end * 1.12], ticksuffix=" ms", nticks=6)
    return figure


def origin(rows: Rows) -> datetime:
    """When the auction began: by the first attempt that knows its elapsed time, else the first attempt."""
    from_elapsed = [
        row["ts"].timestamp() - float(row["elapsed_ms"]) / 1e3 for row in rows if row["elapsed_ms"] is not None
    ]
    first = min(row["ts"].timestamp() for row in rows)
    return datetime.fromtimestamp(min([first, *from_elapsed]))


def started(row: Row, begin: datetime) -> float:
    """Milliseconds from the auction's begin to the sending."""
    if row["elapsed_ms"] is not None:
        return float(row["elapsed_ms"])
    return float((row["ts"] - begin).total_seconds() * 1000)


def ms(value: float | None) -> str:
    """A latency in words."""
    return style.UNKNOWN if value is None else f"{float(value):,.0f} ms"
