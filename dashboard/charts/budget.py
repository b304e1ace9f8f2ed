"""Time left for retries when they were sent, as bars of 20 ms."""

from collections.abc import Mapping

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.style import Rows
from dashboard.charts.timeline import pattern

STEP = 20
"""Milliseconds a bar, as the rows are counted."""

LOWEST, HIGHEST = -200, 1_000
"""Bars outside are drawn together as one on each side."""

PARTS = {
    "feasible": (style.BLUE, ""),
    "infeasible": (style.RED, "/"),
    "unjudged": (style.GREY, "."),
}
MOST_TICKS = 9


def left(rows: Rows, names: Mapping[str, str]) -> go.Figure:
    """Rows with `left_from_ms` (None: not known), `retries`, `feasible`, `infeasible`; `names` words its parts."""
    bins = folded(rows)
    known = [edge for edge in bins if edge is not None]
    edges: list[int | None] = list(range(min(known), max(known) + STEP, STEP)) if known else []
    if None in bins:
        edges.append(None)
    labels = [label(edge, names) for edge in edges]
    places = [index + (edge is None) for index, edge in enumerate(edges)]
    figure = go.Figure()
    for part, (colour, shape) in PARTS.items():
        values = [bins.get(edge, {}).get(part, 0) for edge in edges]
        if not any(values):
            continue
        figure.add_bar(
            x=places,
            y=values,
            name=names[part],
            marker={"color": colour, "line": {"width": 0}, "pattern": pattern(shape)},
            customdata=[(text, style.count(value)) for text, value in zip(labels, values, strict=True)],
            hovertemplate="%{customdata[0]}: %{customdata[1]}",
        )
    if 0 in edges:
        figure.add_vline(x=edges.index(0) - 0.5, line={"color": style.GREY, "width": 1, "dash": "dot"})
    style.frame(figure, 260)
    figure.update_layout(barmode="stack", bargap=0.08)
    shown = ticks(edges)
    figure.update_xaxes(
        tickmode="array",
        tickvals=[places[index] if edges[index] is None else index - 0.5 for index in shown],
        ticktext=[names["rest"] if edges[index] is None else str(edges[index]) for index in shown],
        showgrid=False,
        title=names["left"],
    )
    figure.update_yaxes(rangemode="tozero")
    return figure


def folded(rows: Rows) -> dict[int | None, dict[str, int]]:
    """Counts of each part by the lower edge of its bar."""
    found: dict[int | None, dict[str, int]] = {}
    for row in rows:
        edge = None if row["left_from_ms"] is None else int(min(max(row["left_from_ms"], LOWEST - STEP), HIGHEST))
        counts = found.setdefault(edge, dict.fromkeys(PARTS, 0))
        counts["feasible"] += row["feasible"]
        counts["infeasible"] += row["infeasible"]
        counts["unjudged"] += row["retries"] - row["feasible"] - row["infeasible"]
    return found


def label(edge: int | None, names: Mapping[str, str]) -> str:
    """A bar's span in words."""
    if edge is None:
        return names["rest"]
    if edge < LOWEST:
        return names["below"].format(edge=LOWEST) + " " + names["left"]
    if edge >= HIGHEST:
        return names["above"].format(edge=HIGHEST) + " " + names["left"]
    return names["bin"].format(low=edge, high=edge + STEP) + " " + names["left"]


def ticks(edges: list[int | None]) -> list[int]:
    """Which bars get a label, at their lower edge: round numbers, and the bar of what is not known."""
    known = [edge for edge in edges if edge is not None]
    step = next((size for size in (STEP, 40, 100, 200) if len(known) * STEP <= size * MOST_TICKS), 400)
    return [index for index, edge in enumerate(edges) if edge is None or edge % step == 0]
