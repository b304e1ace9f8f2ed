"""Breaker states over time: one lane a partner and node, healthy time drawn as well."""

from collections.abc import Sequence
from datetime import datetime

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.style import Rows
from dashboard.charts.timeline import dates, pattern
from dashboard.escape import plotly

STATES = {
    "closed": (style.GREEN, "", 0.30),
    "half_open": (style.YELLOW, "/", 0.42),
    "open": (style.RED, "", 0.62),
    "unknown": (style.GREY, ".", 0.30),
}
"""State -> colour, pattern, height of its bar in the lane: an open lane is also taller."""


def timeline(rows: Rows, start: datetime, end: datetime, names: dict[str, str]) -> go.Figure:
    """Intervals of the table `breakers` between start and end, as datetimes; one whose `to` is None runs to the end.

    An opening also gets a mark at its begin, so that one too short for a pixel is still seen.
    """
    lanes = lanes_of(rows)
    place = {lane: index for index, lane in enumerate(lanes)}
    figure = go.Figure()
    for state, (colour, shape, height) in STATES.items():
        parts = []
        for row in rows:
            left, right = max(row["from"], start), min(row["to"] or end, end)
            if row["state"] == state and left < right:
                parts.append((place[row["partner"], row["node"]], left, right, row))
        if not parts:
            continue
        figure.add_bar(
            base=[left for _, left, _, _ in parts],
            x=[(right - left).total_seconds() * 1000 for _, left, right, _ in parts],
            y=[lane for lane, _, _, _ in parts],
            width=[height] * len(parts),
            orientation="h",
            name=names.get(state, state),
            marker={"color": colour, "line": {"width": 0}, "pattern": pattern(shape)},
            customdata=[
                (
                    plotly(lane_name((row["partner"], row["node"]))),
                    duration((right - left).total_seconds()),
                    style.count(row["attempts"]),
                    style.count(row["blocked"]),
                    f"{left:%d %b %H:%M:%S}",
                )
                for _, left, right, row in parts
            ],
            hovertemplate=(
                "%{customdata[0]}<br>from %{customdata[4]} for %{customdata[1]}<br>"
                "%{customdata[2]} attempts sent, %{customdata[3]} blocked"
            ),
        )
        if state == "open":
            mark_openings(figure, [(lane, left) for lane, left, _, _ in parts], colour)
    style.frame(figure, style.rows_height(len(lanes), row=34) + 14)
    figure.update_layout(barmode="overlay")
    style.category_rows(figure, [lane_name(lane) for lane in lanes])
    figure.update_xaxes(range=[start, end])
    return dates(figure)


def mark_openings(figure: go.Figure, points: Sequence[tuple[int, datetime]], colour: str) -> None:
    """A small triangle above the begin of each open interval."""
    figure.add_scatter(
        x=[left for _, left in points],
        y=[lane - 0.4 for lane, _ in points],
        mode="markers",
        marker={"symbol": "triangle-down", "size": 7, "color": colour},
        showlegend=False,
        hoverinfo="skip",
    )


def lanes_of(rows: Rows) -> list[tuple[str, str | None]]:
    """(partner, node) of each lane: those with the most openings first, cut at what a chart can hold."""
    opens: dict[tuple[str, str | None], int] = {}
    for row in rows:
        lane = (row["partner"], row["node"])
        opens[lane] = opens.get(lane, 0) + (row["state"] == "open")
    return sorted(opens, key=lambda lane: (-opens[lane], lane[0], lane[1] or ""))[: style.MOST_ROWS]


def lane_name(lane: tuple[str, str | None]) -> str:
    """partner · node, or the partner alone where no node is told."""
    partner, node = lane
    return f"{partner} · {node}" if node else partner


def duration(seconds: float) -> str:
    """A time span as people say it: 20.0 ms, 41 s, 12.0 min, 3.5 h, 2.1 days; none at all is 0 s."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    if 0 < seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.1f} s" if 0 < seconds < 10 else f"{seconds:.0f} s"
