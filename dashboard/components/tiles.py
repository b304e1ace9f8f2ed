"""Headline figures: a value, its n, its trend, and its definition a hover away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dashboard.charts import style
from dashboard.components import explain
from dashboard.escape import markdown
from dashboard.texts import counted, say

MOST_IN_ROW = 5
NARROWEST = 160
"""Pixels of the narrowest tile: two stand side by side on a phone."""


@dataclass(frozen=True)
class Tile:
    """One figure. `text` names its label under `tile`; `metric` its entry in the dictionary; `n` its denominator."""

    text: str
    value: str
    metric: str = ""
    n: float | None = None
    unit: str = ""
    trend: Sequence[float] = ()
    chart: str = "line"
    note: str = ""


def rate(text: str, part: float | None, whole: float | None, **more: Any) -> Tile:
    """A tile for part / whole."""
    return Tile(text, style.percent(style.ratio(part, whole)), n=whole, **more)


def show(tiles: Sequence[Tile], texts: Mapping[str, Mapping[str, Any]]) -> None:
    """A row of figures that wraps on narrow screens."""
    if not tiles:
        return
    with st.grid(columns(len(tiles)), min_column_width=NARROWEST, gap="small"):
        for tile in tiles:
            st.metric(
                say(f"tile.{tile.text}"),
                tile.value,
                help=explain.metric(texts, tile.metric, tile.n, tile.unit) or None,
                delta=note(tile),
                delta_arrow="off",
                delta_color="primary",
                border=True,
                chart_data=list(tile.trend) if len(tile.trend) > 1 else None,
                chart_type="bar" if tile.chart == "bar" else "line",
                height="stretch",
            )


def note(tile: Tile) -> str | None:
    """What stands below the value: n and its unit, or what the tile says itself."""
    if tile.note:
        return markdown(tile.note)
    if tile.n is None:
        return None
    return say("tile.n", n=style.short(tile.n), unit=counted(tile.unit, tile.n))


def columns(tiles: int) -> int:
    """How many tiles stand in a row, so that the last row is full where that can be."""
    return tiles if tiles <= MOST_IN_ROW else next((count for count in (4, 5, 3) if tiles % count == 0), 4)
