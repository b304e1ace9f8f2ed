"""All incidents of a range as a table, and what the file of marks tells."""

import streamlit as st

from dashboard.charts.breakers import duration
from dashboard.components import data, explain, grid, incidents
from dashboard.components.incidents import Incident
from dashboard.components.view import View
from dashboard.escape import plain
from dashboard.filters import Filters, utc
from dashboard.marks import place
from dashboard.texts import say, tell, title

METRICS = ("breakers.opens", "rate_limits.bursts")
COLUMNS = ("incident", "name", "node", "from", "to", "lasted", "limited", "requests")
MOST_FAULTS = 20


def show(view: View, filters: Filters) -> None:
    """One row an incident, the newest first; that there is none is said."""
    texts = data.metric_texts(view.snapshot)
    about = "\n\n".join([say("incidents.listed"), *(explain.metric(texts, name) for name in METRICS)])
    with st.container(border=True):
        st.markdown(f"**{say('incidents.title')}**", help=about)
        found = [] if view.end_us is None else incidents.find(view, filters)
        if not found:
            st.markdown(f":material/do_not_disturb_on: {say('incidents.none')}")
            return
        rows = [row(one) for one in reversed(found)]
        grid.show(rows, view.zone, key="incidents", columns=COLUMNS, alt=tell("incidents.alt"), absent=grid.ABSENT)


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
