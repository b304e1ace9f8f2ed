"""All incidents of a range as a table, and what the file of marks tells."""

from collections.abc import Sequence

import streamlit as st

from dashboard.charts.breakers import duration
from dashboard.components import data, door, explain, grid, hidden, incidents, once, panel
from dashboard.components.incidents import Incident
from dashboard.components.view import View
from dashboard.escape import plain
from dashboard.filters import Filters, utc
from dashboard.marks import place, state
from dashboard.texts import say, tell, title

METRICS = ("breakers.opens", "rate_limits.bursts")
COLUMNS = ("incident", "name", "node", "from", "to", "lasted", "limited", "requests")
MOST_FAULTS = 20


def show(view: View, filters: Filters) -> None:
    """One row an incident, the newest first; that there is none is said, and for whom that is unknown."""
    texts = data.metric_texts(view.snapshot)
    told = [say("incidents.listed"), *(explain.metric(texts, name) for name in METRICS), explain.when(view)]
    rows, made, behind = listed(view, filters)
    unseen = [] if view.end_us is None else unknown(view, filters)
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"):
            panel.title("incidents", say("incidents.title"), "\n\n".join(told))
            with st.container(width="content"):
                door.show(view, "incidents", behind)
        for text in unseen:
            st.caption(f":material/visibility_off: {text}")
        if not rows:
            st.markdown(f":material/do_not_disturb_on: {say('incidents.none_known' if unseen else 'incidents.none')}")
            return
        alt, absent = tell("incidents.alt"), grid.ABSENT
        grid.show(rows, view.zone, key="incidents", columns=COLUMNS, alt=alt, absent=absent, made=made)


def listed(view: View, filters: Filters) -> tuple[Sequence[data.Row], grid.Cells, list[data.Result]]:
    """The incidents as they read best and what they come from, made anew when the file of marks changed."""
    path = place(view.snapshot.warehouse)

    def make() -> tuple[Sequence[data.Row], grid.Cells, list[data.Result]]:
        behind: list[data.Result] = []
        with data.noting(behind):
            found = [] if view.end_us is None else incidents.find(view, filters)
        return *grid.listed([row(one) for one in reversed(found)], view.zone, COLUMNS, grid.ABSENT), behind

    openings = data.table(view.snapshot, "breaker_openings", filters)
    return once.made(view, "incidents", openings, make, str(path), state(path))


def unknown(view: View, filters: Filters) -> list[str]:
    """What could not be looked for: bursts where refusals are unknown, openings where no log tells a state."""
    rows = data.table(view.snapshot, "rate_limits", filters).rows
    names = dict.fromkeys(row["partner"] for row in rows if row["limited"] is None)
    said = [say("incidents.no_refusals").format(names=hidden.named(list(names)))] if names else []
    lanes = data.table(view.snapshot, "breaker_nodes", filters).rows
    if data.has_stream(view.snapshot, "exchange") and not any(row["known_s"] for row in lanes):
        said.append(say("incidents.no_states"))
    return said


def row(one: Incident) -> data.Row:
    """An incident as it reads best; a mark has no end."""
    mark = one.kind == "mark"
    return {
        "incident": title("incidents.kind", one.kind),
        "name": one.name,
        "node": one.node,
        "from": utc(one.start_us),
        "to": None if mark else utc(one.end_us),
        "lasted": None if mark else duration((one.end_us - one.start_us) / 1e6),
        "limited": one.limited,
        "requests": one.requests,
    }


def marks(view: View) -> None:
    """Where marks are noted, how many were read, and each line that was not."""
    path = place(view.snapshot.warehouse)
    found = incidents.read_marks(view.snapshot.warehouse)
    with st.container(border=True):
        st.markdown(f"**{say('marks.title')}**")
        st.caption(say("marks.about", path=path.name))
        if not path.exists():
            st.markdown(f":material/do_not_disturb_on: {say('marks.no_file')}")
            return
        st.markdown(say("marks.read", n=len(found.marks)))
        for fault in found.faults[:MOST_FAULTS]:
            text = say(f"marks.fault.{fault.kind}", line=fault.line, text=plain(fault.text))
            st.markdown(f":material/warning: {text}")
        if len(found.faults) > MOST_FAULTS:
            st.caption(say("marks.more_faults", n=len(found.faults) - MOST_FAULTS))
