"""A drag across a chart over time sets the range of all pages, and one button takes it back."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from dashboard.components.view import CUSTOM, View, clock
from dashboard.texts import say, table

_ZOOMS = "_zooms"
MINUTE = timedelta(minutes=1)
MOST = 20
"""Ranges that are kept to go back to."""


@dataclass(frozen=True)
class Range:
    """What the sidebar says of the range; the moments are local, and there only where the choice is Custom."""

    choice: str
    start: datetime | None = None
    end: datetime | None = None


def options(view: View, name: str) -> dict[str, Any]:
    """What makes a chart selectable. On a phone, where a drag moves the page, nothing does.

    The key tells the range: in another one the chart is another, and keeps no selection.
    """
    if "Mobi" in (st.context.headers.get("User-Agent") or ""):
        return {}
    key = f"chart_{name}_{view.start_us}_{view.end_us}"
    return {"key": key, "selection_mode": "box", "on_select": lambda: select(key)}


def select(key: str) -> None:
    """Takes the chosen span of a chart as the range of all pages; for the chart's callback."""
    boxes = st.session_state[key]["selection"]["box"]
    chosen = None if not boxes else span(*boxes[0]["x"])
    if chosen is None:
        return
    former = now()
    zooms = [zoom for zoom in st.session_state.get(_ZOOMS, ()) if zoom != (former, chosen)]
    st.session_state[_ZOOMS] = [*zooms, (former, chosen)][-MOST:]
    put(chosen)


def span(first: object, last: object) -> Range | None:
    """Two places on a chart's axis as a range of whole minutes around them; None for what is no time."""
    try:
        low, high = sorted(datetime.fromisoformat(str(text)[:26]) for text in (first, last))
    except ValueError:
        return None
    start = low.replace(second=0, microsecond=0)
    end = high.replace(second=0, microsecond=0)
    return Range(CUSTOM, start, end if end == high and end > start else end + MINUTE)


def now() -> Range:
    """The range as the sidebar has it."""
    state = st.session_state
    choice = state["range"]
    return Range(choice, state.get("from"), state.get("to")) if choice == CUSTOM else Range(choice)


def put(wanted: Range) -> None:
    """Sets the sidebar and the address."""
    st.session_state["range"] = wanted.choice
    for name, moment in (("from", wanted.start), ("to", wanted.end)):
        if wanted.choice == CUSTOM:
            _put(name, moment)


def _put(name: str, moment: datetime | None) -> None:
    """A widget that is on the page writes its value into the address itself; one that comes with it does not."""
    if name not in st.session_state and moment is not None:
        with suppress(StreamlitAPIException):
            st.query_params[name] = moment.isoformat(timespec="minutes")
    st.session_state[name] = moment


def back() -> None:
    """The button that takes the last drag back; none where the range has been chosen anew since."""
    zooms: list[tuple[Range, Range]] = st.session_state.get(_ZOOMS, [])
    if not zooms or zooms[-1][1] != now():
        return
    former = zooms[-1][0]
    st.button(
        say("zoom.back", range=worded(former)),
        key="zoom_back",
        icon=":material/undo:",
        type="tertiary",
        on_click=_take_back,
    )


def _take_back() -> None:
    former, _ = st.session_state[_ZOOMS].pop()
    put(former)


def worded(wanted: Range) -> str:
    """A range as the button names it."""
    if wanted.choice != CUSTOM:
        return table("range").get(wanted.choice, wanted.choice)
    ends = ("…" if moment is None else clock(moment).removesuffix(":00") for moment in (wanted.start, wanted.end))
    return " - ".join(ends)
