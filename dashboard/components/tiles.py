"""Headline figures: a value, its n, its trend, its change, and its definition a hover away."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dashboard.charts import style
from dashboard.components import compare, data, door, explain
from dashboard.components.compare import Amount
from dashboard.components.data import Result
from dashboard.components.view import View
from dashboard.escape import markdown
from dashboard.filters import Filters
from dashboard.texts import counted, say

MOST_IN_ROW = 5
NARROWEST = 160
"""Pixels of the narrowest tile: two stand side by side on a phone."""


@dataclass(frozen=True)
class Tile:
    """One figure. `text` names its label under `tile`; `metric` its entry in the dictionary; `n` its denominator.

    `amount` is what an earlier period's is compared with; None where that would say nothing. `ranged`: the range of
    the page bounds it.
    """

    text: str
    value: str
    metric: str = ""
    n: float | None = None
    unit: str = ""
    trend: Callable[[], Sequence[float]] | None = None
    chart: str = "line"
    note: str = ""
    amount: Amount | None = None
    ranged: bool = True


def rate(text: str, part: float | None, whole: float | None, *, events: bool = False, **more: Any) -> Tile:
    """A tile for part / whole; `events` where single events tell them."""
    value = style.ratio(part, whole)
    return Tile(text, style.percent(value), n=whole, amount=Amount("share", value, part, whole, events), **more)


def compared(view: View, filters: Filters, build: Callable[[View, Filters], list[Tile]]) -> None:
    """The tiles that `build` gives, each with its change since the earlier period of the view, and a door."""
    behind: list[Result] = []
    with data.noting(behind):
        shown = build(view, filters)
    changes: Mapping[str, tuple[str, str]] = {}
    if view.before is not None:
        past = build(view.before, view.before.within(filters))
        changes = compare.changes(view, amounts(shown), amounts(past))
    show(view, shown, behind, changes=changes, note=compare.note(view))


def amounts(tiles: Sequence[Tile]) -> dict[str, Amount]:
    """What can be compared, by the tile's name."""
    return {tile.text: tile.amount for tile in tiles if tile.amount is not None}


def show(
    view: View,
    tiles: Sequence[Tile],
    behind: list[Result],
    *,
    changes: Mapping[str, tuple[str, str]] | None = None,
    note: str = "",
) -> None:
    """A row of figures that wraps on narrow screens, with a door to the results `behind` them and their trends.

    `changes` are said below the figures that have one, `note` below all.
    """
    if not tiles:
        return
    texts = data.metric_texts(view.snapshot)
    with data.noting(behind), st.grid(columns(len(tiles)), min_column_width=NARROWEST, gap="small"):
        for tile in tiles:
            change, before = (changes or {}).get(tile.text, ("", ""))
            if not change:
                one(view, tile, texts, border=True)
                continue
            with st.container(border=True, height="stretch", gap="xxsmall"):
                one(view, tile, texts, before)
                st.caption(change)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"):
        st.caption(note, width="stretch")
        with st.container(width="content"):
            door.show(view, f"tiles_{tiles[0].text}", behind)


def one(
    view: View, tile: Tile, texts: Mapping[str, Mapping[str, Any]], before: str = "", *, border: bool = False
) -> None:
    """One figure; `before` tells the earlier one in full."""
    trend = [] if tile.trend is None else tile.trend()
    st.metric(
        say(f"tile.{tile.text}"),
        tile.value,
        help="\n\n".join(part for part in (*told(view, tile, texts), before) if part) or None,
        delta=note(tile),
        delta_arrow="off",
        delta_color="primary",
        border=border,
        chart_data=list(trend) if len(trend) > 1 else None,
        chart_type="bar" if tile.chart == "bar" else "line",
        height="stretch",
    )


def told(view: View, tile: Tile, texts: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """What a figure is: by the dictionary, of what it is made here, and of when it is."""
    made = ""
    if tile.amount is not None:
        z = float(view.snapshot.settings["interval_z"]) if tile.amount.kind == "share" else None
        made = explain.made(tile.amount.part, tile.amount.whole, z)
    n = explain.metric(texts, tile.metric, tile.n, tile.unit)
    return n, made, explain.when(view, ranged=tile.ranged)


def note(tile: Tile) -> str | None:
    """What stands below the value: n and its unit, or what the tile says itself."""
    if tile.note:
        return markdown(tile.note)
    if tile.n is None:
        return None
    if tile.n == 0:
        return say("tile.none", unit=counted(tile.unit, 0))
    return say("tile.n", n=style.short(tile.n), unit=counted(tile.unit, tile.n))


def columns(tiles: int) -> int:
    """How many tiles stand in a row, so that the last row is full where that can be."""
    return tiles if tiles <= MOST_IN_ROW else next((count for count in (4, 5, 3) if tiles % count == 0), 4)
