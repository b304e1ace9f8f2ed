"""A chart over time: incidents lie behind it, and a drag across it chooses the range."""

from collections.abc import Callable, Collection
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dashboard.charts import incidents as drawing
from dashboard.components import incidents, once, panel, zoom
from dashboard.components.data import Result
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.texts import table


def show(
    view: View,
    filters: Filters,
    name: str,
    result: Result,
    draw: Callable[[], go.Figure],
    *,
    note: str = "",
    empty: bool | None = None,
    leave: Collection[str] = (),
    **more: Any,
) -> None:
    """As `panel.chart`, of the partners in `filters`; kinds of incidents in `leave` are not drawn."""
    found = [group for group in told(view, filters) if group.kind not in leave]
    shown = incidents.chosen(found)
    select = zoom.options(view, name)

    def drawn() -> go.Figure:
        bands = [incidents.band(view, group) for group in shown]
        figure = drawing.add(draw(), bands, table("incidents.kind"))
        return drawing.selectable(figure) if select else figure

    none = empty if empty is not None else not result.rows
    said = " ".join(part for part in (note, "" if none else incidents.note(found, shown)) if part)
    also = (shown, bool(select))
    aside = None
    if found and not none:
        aside = once.made(view, f"aside {name}", result, lambda: incidents.aside(view, found, shown), found)
    panel.chart(view, name, result, drawn, note=said, empty=none, options=select, also=also, aside=aside, **more)


def told(view: View, filters: Filters) -> list[incidents.Group]:
    """The incidents of the range, if they are asked for and there is any data."""
    wanted = st.session_state.get("incidents", True) and view.end_us is not None
    return incidents.of_range(view, filters) if wanted else []
