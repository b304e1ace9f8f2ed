"""What happened, behind a chart over time: spans of open breakers and of 429s as bands, marks as lines.

Each has a sign at the top edge, whose shape says its kind; the pointer tells the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.escape import plotly

KINDS = {
    "open": (style.RED, "rgba(213, 94, 0, 0.13)", "triangle-down"),
    "burst": (style.PURPLE, "rgba(204, 121, 167, 0.18)", "square"),
    "mark": (style.BLUE, "", "diamond"),
}
"""Kind -> colour of its sign, of its band (a mark is a line), shape of its sign."""

LONGEST = 150
"""Characters of a line that the pointer tells."""

TOP = 0.97
"""Where the signs stand, as a share of the chart's height."""


@dataclass(frozen=True)
class Band:
    """A span in the chart's local time; `lines` are what the pointer tells, as plain texts."""

    kind: str
    start: datetime
    end: datetime
    lines: Sequence[str]


def add(figure: go.Figure, bands: Sequence[Band], names: Mapping[str, str]) -> go.Figure:
    """Draws bands on a chart whose x axis is a date; `names` words the kinds for the legend."""
    kinds = [kind for kind in KINDS if any(band.kind == kind for band in bands)]
    for kind in kinds:
        colour, fill, symbol = KINDS[kind]
        shown = [band for band in bands if band.kind == kind]
        figure.add_scatter(**_spans(shown, colour, fill))
        figure.add_scatter(
            x=[band.start + (band.end - band.start) / 2 for band in shown],
            y=[TOP] * len(shown),
            yaxis="y2",
            mode="markers",
            name=plotly(names[kind]),
            marker={"symbol": symbol, "size": 8, "color": colour, "line": {"width": 0}},
            cliponaxis=False,
            customdata=["<br>".join(plotly(line, LONGEST) for line in band.lines) for band in shown],
            hovertemplate="%{customdata}<extra></extra>",
        )
    if kinds:
        figure.update_layout(
            yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
            height=figure.layout.height + style.LEGEND_LINE * len(kinds),
        )
    return figure


def _spans(bands: Sequence[Band], colour: str, fill: str) -> dict[str, Any]:
    """One trace for all bands of a kind, from bottom to top: as shapes they would take most of a chart's time."""
    x: list[datetime | None] = []
    for band in bands:
        x += [band.start, band.start, band.end, band.end, None] if fill else [band.start, band.start, None]
    y = ([0, 1, 1, 0, None] if fill else [0, 1, None]) * len(bands)
    drawn = {"fill": "toself", "fillcolor": fill, "line": {"width": 0}} if fill else {}
    line = {"line": {"color": colour, "width": 1, "dash": "dash"}}
    hidden = {"hoverinfo": "skip", "showlegend": False, "zorder": -1}
    return {"x": x, "y": y, "yaxis": "y2", "mode": "lines"} | hidden | line | drawn


def selectable(figure: go.Figure) -> go.Figure:
    """Lets a drag across the chart choose a time."""
    return figure.update_layout(dragmode="select", selectdirection="h")
