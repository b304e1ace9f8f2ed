"""What all charts share: colours, number shapes, axes and the calm frame around them.

Colours are Okabe and Ito's, readable on the light and on the dark background and with any colour vision; a pattern
or a written label always says the same once more.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from math import erf, log10, sqrt
from typing import Any

import plotly.graph_objects as go

from dashboard import languages
from dashboard.escape import brief, plotly
from dashboard.texts import tell

Row = Mapping[str, Any]
Rows = Sequence[Row]
Item = dict[str, Any]
"""What Plotly takes for an annotation or a shape."""

BLUE, SKY, GREEN, ORANGE = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
RED, PURPLE, YELLOW, GREY = "#D55E00", "#CC79A7", "#E0CF2F", "#6B757D"
QUIET = "rgba(138, 148, 156, 0.22)"
GRID = "rgba(138, 148, 156, 0.18)"
LABEL_WIDTH = 26
"""Characters of a name on an axis; the hover text has the longer form."""

ROW_HEIGHT = 30
NAMED_ROW = 40
"""Pixels of a row whose name stands above its bar."""

LINE_WIDTH = 46
"""Characters of a name and what stands right of it in one line of a phone's width."""

LONGEST_LINE = 120
"""Characters of a line of hover text."""

ZONE_SIZE, ZONE_ROOM = 11, 14
"""Pixels of the letters of a time zone, and of the line they take."""

LEGEND_LINE, LEGEND_FREE = 18, 5
"""Pixels of a legend's line, and how many entries every chart has room for."""

MOST_ROWS = 40
"""Bars or rows a chart draws at most; the table beside it has them all."""


def unknown() -> str:
    """The word for what no log told."""
    return tell("shape.unknown")


def number(value: float | None, form: str = ",.0f") -> str:
    """A number in Python's form with the separators of the session's language; None is said, never shown as 0."""
    return unknown() if value is None else languages.current().number(f"{value:{form}}")


def count(value: float | None) -> str:
    """1,234,567; None is said, never shown as 0."""
    return number(value)


def short(value: float | None) -> str:
    """12.4k, for tight places."""
    if value is None:
        return unknown()
    for least, size, unit in ((1e9, 1e9, "billions"), (1e6, 1e6, "millions"), (1e4, 1e3, "thousands")):
        if abs(value) >= least:
            return tell(f"shape.{unit}", value=number(value / size, ".1f"))
    return number(value)


def percent(value: float | None) -> str:
    """A fraction as per cent with one decimal; tiny shares are not rounded to nothing, nor large ones to all."""
    if value is None:
        return unknown()
    if 0 < value < 0.001:
        return f"<{per_cent(0.001)}"
    if 0.999 < value < 1:
        return f">{per_cent(0.999)}"
    return per_cent(value)


def per_cent(value: float) -> str:
    """A fraction as the language writes it: 42.2%, or 42,2 % with a space that does not break."""
    return number(100 * value, ".1f") + languages.current().per_cent


def percentile(hundredth: int) -> str:
    """The name of a quantile: 95%."""
    return f"{hundredth}{languages.current().per_cent}"


def within(z: float) -> str:
    """How much of a normal distribution lies within `z` standard deviations: 95%, 99.7%."""
    share = round(100 * erf(z / sqrt(2)), 1)
    return number(share, ".1f" if share % 1 else ".0f") + languages.current().per_cent


def of(part: str, whole: str) -> str:
    """3 of 4."""
    return tell("shape.of", part=part, whole=whole)


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


def separators() -> str:
    """Decimal and thousands mark of the session's language, as Plotly takes them for axes."""
    language = languages.current()
    return language.decimal + language.thousands


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
            "maxheight": 2_000,
        },
        hoverlabel={"align": "left", "namelength": -1},
        bargap=0.28,
        dragmode=False,
        separators=separators(),
    )
    figure.update_xaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True, fixedrange=True, title=None)
    figure.update_yaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True, fixedrange=True, title=None)
    return figure


def over_time(figure: go.Figure) -> bool:
    """Whether the axis is a date."""
    return bool(figure.layout.xaxis.type == "date")


def zoned(figure: go.Figure, zone: str) -> go.Figure:
    """Names the zone of the clock below an axis of dates."""
    if over_time(figure):
        figure.update_xaxes(title={"text": plotly(zone), "font": {"size": ZONE_SIZE}, "standoff": 2})
        figure.update_layout(height=figure.layout.height + ZONE_ROOM)
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


def name_rows(figure: go.Figure, names: Sequence[object], texts: Sequence[str] | None = None) -> go.Figure:
    """Rows at y = 0, 1, 2... from the top whose names stand above their bars, at the left; `texts` at the right.

    So a bar is as wide as the screen, and a long name is whole on a phone.
    """
    texts = texts or [""] * len(names)
    beside: Item = {"yanchor": "bottom", "xref": "paper"}
    notes: list[Item] = []
    for row, (name, text) in enumerate(zip(names, texts, strict=True)):
        label = labels([name], max(LABEL_WIDTH, LINE_WIDTH - len(text)))[0]
        notes.append({"x": 0, "y": row - 0.24, "text": label, "xanchor": "left", "font": {"size": 12}, **beside})
        if text:
            right = {"x": 1, "xanchor": "right", "font": {"size": 11}}
            notes.append({"y": row - 0.24, "text": plotly(text), **right, **beside})
    write(figure, notes)
    figure.update_layout(bargap=0.56)
    category_rows(figure, names)
    figure.update_yaxes(showticklabels=False, range=[len(names) - 0.6, -0.85])
    return figure


def write(figure: go.Figure, notes: Iterable[Item]) -> None:
    """Adds annotations without arrows, all at once: one by one, each would have all before it checked anew."""
    added = [{"showarrow": False, **note} for note in notes]
    figure.update_layout(annotations=[*figure.layout.annotations, *added])


def outline(figure: go.Figure, shapes: Iterable[Item]) -> None:
    """Adds shapes, all at once, as `write` does notes."""
    figure.update_layout(shapes=[*figure.layout.shapes, *shapes])


def upright(figure: go.Figure, x: float, text: str, side: str = "left", *, logarithmic: bool = False) -> None:
    """A dotted line at x, named at the bottom on its left or right side; `name_room` makes room for that."""
    figure.add_vline(x=x, line={"color": RED, "width": 1, "dash": "dot"})
    place: Item = {"x": log10(x) if logarithmic else x, "y": 0, "yref": "paper", "yanchor": "bottom"}
    anchor = "right" if side == "left" else "left"
    write(figure, [{"text": plotly(text), "font": {"size": 11}, "xanchor": anchor, **place}])


def name_room(figure: go.Figure, rows: int) -> None:
    """Makes room below the last of so many rows for the names of upright lines."""
    figure.update_yaxes(range=[rows - 0.05, -0.55])


def join_marks(figure: go.Figure, ends: Sequence[tuple[float | None, float | None]]) -> None:
    """Joins the two marks of each row by a line; a row that lacks one has none."""
    look: Item = {"type": "line", "line": {"color": GREY, "width": 2}, "layer": "below"}
    outline(
        figure,
        [
            {"x0": x0, "x1": x1, "y0": row, "y1": row, **look}
            for row, (x0, x1) in enumerate(ends)
            if x0 is not None and x1 is not None
        ],
    )


def mark_unknown(figure: go.Figure, unknown_rows: Iterable[bool], x: float = 0.0) -> None:
    """Writes the word where a row has no value."""
    look: Item = {"x": x, "text": unknown(), "xanchor": "left", "font": {"size": 11, "color": GREY}}
    write(figure, [{"y": row, **look} for row, missing in enumerate(unknown_rows) if missing])


def named_height(rows: int, *, legend: bool) -> int:
    """Height in pixels of a chart with so many rows whose names stand above their bars."""
    return rows_height(rows, legend=legend, row=NAMED_ROW) + (18 if legend else 0)


def legend_room(names: Sized) -> int:
    """Pixels that a chart gets more, so that its legend is whole on a phone: two entries a line, or one long one."""
    return LEGEND_LINE * max(0, len(names) - LEGEND_FREE)


def rows_height(rows: int, *, legend: bool = True, row: int = ROW_HEIGHT) -> int:
    """Height in pixels of a chart with so many rows."""
    return max(rows, 2) * row + (72 if legend else 44)
