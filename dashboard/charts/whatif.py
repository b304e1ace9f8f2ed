"""What a policy changes, by partner: amplification before and after against the usual budgets."""

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.retries import BUDGETS
from dashboard.charts.style import Rows
from dashboard.escape import plotly
from dashboard.texts import tell

MARKS = (
    ("before", "amplification_before", "attempts_before", style.ORANGE, "circle-open"),
    ("after", "amplification_after", "attempts_after", style.BLUE, "diamond"),
)


def amplification(rows: Rows) -> go.Figure:
    """Rows of a replay: two marks a partner, joined; the gap is what the policy does not send."""
    shown = list(rows)[: style.MOST_ROWS]
    figure = go.Figure()
    style.mark_unknown(figure, [row["amplification_before"] is None for row in shown], 1)
    style.join_marks(figure, [(row["amplification_after"], row["amplification_before"]) for row in shown])
    for name, column, attempts, colour, mark in MARKS:
        label = tell(f"chart.{name}")
        figure.add_scatter(
            x=[row[column] for row in shown],
            y=list(range(len(shown))),
            mode="markers",
            name=label,
            marker={"symbol": mark, "size": 11, "color": colour, "line": {"width": 2}},
            customdata=[
                (
                    plotly(row["partner"]),
                    tell(
                        "chart.attempts_per_call",
                        value="" if row[column] is None else style.number(row[column], ".3f"),
                        attempts=row[attempts],
                    ),
                )
                for row in shown
            ],
            hovertemplate=f"%{{customdata[0]}}<br>{label}: %{{customdata[1]}}<extra></extra>",
        )
    for value, side in zip(BUDGETS.values(), ("left", "right"), strict=True):
        style.upright(figure, value, style.number(value, ".2f"), side)
    style.frame(figure, style.rows_height(len(shown)))
    style.category_rows(figure, [row["partner"] for row in shown])
    style.name_room(figure, len(shown))
    known = [row[column] for row in shown for _, column, *_ in MARKS if row[column] is not None]
    figure.update_xaxes(range=[0.98, 1.04 * max([1.21, *known])], tickformat=".2f", nticks=6)
    return figure
