"""Breaker states over time: a lane for each partner and node, one for what was expected; healthy time is drawn too."""

from collections.abc import Sequence
from datetime import datetime

import plotly.graph_objects as go

from dashboard import languages
from dashboard.charts import style
from dashboard.charts.style import Row, Rows
from dashboard.charts.timeline import dates, pattern
from dashboard.escape import plain, plotly
from dashboard.texts import tell

STATES = {
    "closed": (style.GREEN, "", 0.30),
    "half_open": (style.YELLOW, "/", 0.42),
    "open": (style.RED, "", 0.62),
    "unknown": (style.GREY, ".", 0.30),
}
"""State -> colour, pattern, height of its bar in the lane: an open lane is also taller."""


def timeline(rows: Rows, start: datetime, end: datetime, names: dict[str, str]) -> go.Figure:
    """Intervals of the table `breakers` between start and end, as datetimes; one whose `to` is None runs to the end.

    Lanes beyond those that a chart can hold are left out.

    An opening also gets a mark at its begin, so that one too short for a pixel is still seen.
    """
    lanes = lanes_of(rows)
    place = {lane: index for index, lane in enumerate(lanes)}
    figure = go.Figure()
    for state, (colour, shape, height) in STATES.items():
        parts = []
        for row in rows:
            left, right = max(row["from"], start), min(row["to"] or end, end)
            if row["state"] == state and left < right and lane_of(row) in place:
                parts.append((place[lane_of(row)], left, right, row))
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
                    plotly(lane_name(lane_of(row))),
                    duration((right - left).total_seconds()),
                    tell(
                        "chart.lane_expected" if row["kind"] == "expected" else "chart.lane_sent",
                        attempts=style.count(row["attempts"]),
                        blocked=style.count(row["blocked"]),
                    ),
                    f"{left:{languages.current().day} %H:%M:%S}",
                )
                for _, left, right, row in parts
            ],
            hovertemplate=(
                f"%{{customdata[0]}}<br>{tell('chart.lane', moment='%{customdata[3]}', lasted='%{customdata[1]}')}<br>"
                "%{customdata[2]}"
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


Lane = tuple[str, str, str | None]
"""Partner, kind (reported or expected), node."""


def lane_of(row: Row) -> Lane:
    """The lane of an interval."""
    return row["partner"], row["kind"], row["node"]


def lanes_of(rows: Rows) -> list[Lane]:
    """The lanes, those of the partner with the most openings first; each begins with what was expected of it.

    Cut at what a chart can hold.
    """
    opens: dict[str, int] = {}
    for row in rows:
        opens[row["partner"]] = opens.get(row["partner"], 0) + (row["state"] == "open")
    lanes = {lane_of(row) for row in rows}
    return sorted(lanes, key=lambda lane: (-opens[lane[0]], lane[0], lane[1], lane[2] or ""))[: style.MOST_ROWS]


def lane_name(lane: Lane) -> str:
    """partner · node, or the partner alone where no node is told; the lane of the reference says so."""
    partner, kind, node = lane
    if kind == "expected":
        return tell("chart.expected", partner=plain(partner))
    return f"{plain(partner)} · {plain(node)}" if node else plain(partner)


def duration(seconds: float) -> str:
    """A time span as people say it: 20.0 ms, 41 s, 12.0 min, 3.5 h, 2.1 days; none at all is 0 s."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return tell(f"shape.{unit}", value=style.number(seconds / size, ".1f"))
    if 0 < seconds < 1:
        return tell("shape.ms", value=style.number(seconds * 1000, ".1f"))
    return tell("shape.s", value=style.number(seconds, ".1f" if 0 < seconds < 10 else ".0f"))
