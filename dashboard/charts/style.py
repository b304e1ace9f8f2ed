"""What all charts share: colours, number shapes, axes and the calm frame around them.

Colours are Okabe and Ito's, readable on the light and on the dark background and with any colour vision; a pattern
or a written label always says the same once more.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard import escape
from dashboard.escape import brief, plotly

Row = Mapping[str, Any]
Rows = Sequence[Row]

BLUE, SKY, GREEN, ORANGE = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
RED, PURPLE, YELLOW, GREY = "#D55E00", "#CC79A7", "#E0CF2F", "#8A949C"
QUIET = "rgba(138, 148, 156, 0.22)"
GRID = "rgba(138, 148, 156, 0.18)"
UNKNOWN = escape.UNKNOWN
LABEL_WIDTH = 26
"""Characters of a name on an axis; the hover text has the longer form."""

ROW_HEIGHT = 30
MOST_ROWS = 40
"""Bars or rows a chart draws at most; the table beside it has them all."""


def count(value: float | None) -> str:
    """1,234,567; None is said, never shown as 0."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def short(value: float | None) -> str:
    """12.4k, for tight places."""
    if value is None:
        return UNKNOWN
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):.1f}{unit}"
    return f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A fraction as per cent with one decimal; tiny shares are not rounded to nothing, nor large ones to all."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.001:
        return "<0.1 %"
    if 0.999 < value < 1:
        return ">99.9 %"
    return f"{100 * value:.1f} %"


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole, or None where either is unknown or the whole is 0."""
    return None if part is None or not whole else float(part) / float(whole)


def ink(colour: str) -> str:
    """Black or white, whichever reads better on `#RRGGBB`: the contrast is at least 4.5 on every colour."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) else "#FFFFFF"


def labels(names: Sequence[object], width: int = LABEL_WIDTH) -> list[str]:
    """Names as short, inert axis texts."""
    return [plotly(brief(name, width), width) for name in names]


def frame(figure: go.Figure, height: int, *, legend: bool = True) -> go.Figure:
    """Sets the margins, the grid and the legend that every chart has."""
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 12, "t": 34 if legend else 8, "b": 8},
        showlegend=legend,
        legend={
            "orientation": "h",
            "traceorder": "normal",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "xanchor": "left",
            "title": None,
        },
        hoverlabel={"align": "left", "namelength": -1},
        bargap=0.28,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
    )
    figure.update_xaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True, fixedrange=True, title=None)
    figure.update_yaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True, fixedrange=True, title=None)
    return figure


def category_rows(figure: go.Figure, names: Sequence[object], width: int = LABEL_WIDTH) -> go.Figure:
    """Puts names at y = 0, 1, 2... from the top: equal or cut names stay rows of their own."""
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(names))),
        ticktext=labels(names, width),
        range=[len(names) - 0.45, -0.55],
        showgrid=False,
        zeroline=False,
    )
    return figure


def rows_height(rows: int, *, legend: bool = True, row: int = ROW_HEIGHT) -> int:
    """Height in pixels of a chart with so many rows."""
    return max(rows, 2) * row + (72 if legend else 44)
