"""The head of every page: what it answers, how fresh its data are, and how much of the input was refused."""

import streamlit as st

from dashboard.components import data, links, zoom
from dashboard.components.view import View, age, clock, now_us
from dashboard.errors import UserError
from dashboard.snapshot import current_name
from dashboard.texts import say, tell

CHECK_EVERY = "10s"


def show(view: View, page: str) -> None:
    """Title, one sentence, freshness strip."""
    st.title(tell(f"{page}.title"), anchor=False)
    st.markdown(say(f"{page}.about"))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="strip"):
        freshness(view)
        zoom.back()
        rejects = data.reject_count(view.snapshot)
        if page != "data":
            st.page_link(
                view.page("data"),
                label=say("strip.rejects", rejects=rejects) if rejects else say("strip.no_rejects"),
                icon=":material/rule:" if rejects else ":material/check_circle:",
                help=say("strip.rejects_help"),
                query_params=links.kept(),
            )
        else:
            st.caption(say("strip.rejects" if rejects else "strip.no_rejects", rejects=rejects), width="content")
    if (since := view.snapshot.gone_before(view.filters.frm_us)) is not None:
        st.caption(say("strip.gone", since=clock(view.local(since)), zone=view.filters.zone))


@st.fragment(run_every=CHECK_EVERY)
def freshness(view: View) -> None:
    """Age of the newest event, told anew every few seconds; a new snapshot makes the whole page start over."""
    if published(view) != view.snapshot.id:
        st.rerun()
    span = view.snapshot.streams.get("all")
    if span is None or span.newest_us is None:
        st.caption(say("strip.empty"), width="content")
        return
    st.caption(
        say(
            "strip.newest",
            newest=clock(view.local(span.newest_us)),
            zone=view.filters.zone,
            age=age((now_us() - span.newest_us) / 1e6),
        ),
        help=say("strip.newest_help", snapshot=view.snapshot.id),
        width="content",
    )


def published(view: View) -> str:
    """Name of what is published now; while it cannot be read, what is on the screen stays."""
    try:
        return current_name(view.snapshot.warehouse)
    except UserError:
        return view.snapshot.id
