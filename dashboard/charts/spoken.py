"""A chart's main figures in words, for those who hear it: what the pointer tells of its largest or newest marks."""

import re
from collections.abc import Sequence
from datetime import datetime
from html import unescape
from typing import Any

import plotly.graph_objects as go

from dashboard import languages
from dashboard.escape import plain

BEHIND = "y2"
"""The axis of incidents, which lie behind a chart and are told below it."""

MOST = 4
"""Marks that are told; the table beside the chart has all."""

LONGEST = 120
"""Characters of what is told of a mark."""

_PART = re.compile(r"%\{(x|customdata(?:\[(\d+)\])?)\}")
_TAG = re.compile(r"<extra>.*?</extra>|<(?!br>)[^>]*>")


def figures(figure: go.Figure) -> list[str]:
    """A text a mark: the largest of a chart with one kind of marks, else the newest or largest of the first kinds."""
    known = [trace for trace in figure.data if trace.hovertemplate and trace.customdata is not None]
    traces = [trace for trace in known if getattr(trace, "yaxis", None) != BEHIND]
    if len(traces) == 1:
        return [told(traces[0], mark) for mark in leading(traces[0])[:MOST]]
    return [named(trace, told(trace, mark)) for trace in traces[:MOST] for mark in leading(trace)[:1]]


def named(trace: Any, text: str) -> str:
    """What is told of a mark, under the name of its kind where it does not have that itself."""
    name = unescape(trace.name or "")
    return text if name in re.split("[:,] ", text) else f"{name}: {text}"


def leading(trace: Any) -> list[Any]:
    """Marks with a value: those of a line over time from the newest, others from the largest."""
    if trace.type == "heatmap":
        cells = [(z, (line, place)) for line, row in enumerate(trace.z) for place, z in enumerate(row) if z is not None]
        return [mark for _, mark in sorted(cells, key=lambda cell: -cell[0])]
    along, across = list(trace.x or ()), list(trace.y or ())
    if trace.type == "scatter" and along and isinstance(along[0], datetime):
        return [place for place in reversed(range(len(along))) if across[place] is not None]
    values: Sequence[Any] = across if trace.type == "bar" and trace.orientation != "h" else along
    known = [place for place, value in enumerate(values) if isinstance(value, int | float)]
    return sorted(known, key=lambda place: -values[place])


def told(trace: Any, mark: Any) -> str:
    """The hover text of a mark in one line."""
    row = trace.customdata[mark[0]][mark[1]] if isinstance(mark, tuple) else trace.customdata[mark]

    def put(found: re.Match[str]) -> str:
        if found.group(1) == "x":
            moment = trace.x[mark]
            return f"{moment:{languages.current().date} %H:%M}" if isinstance(moment, datetime) else str(moment)
        return str(row if found.group(2) is None else row[int(found.group(2))])

    text = _TAG.sub("", _PART.sub(put, trace.hovertemplate))
    return plain(unescape(text.replace("<br>", ", ")).strip(), LONGEST)
