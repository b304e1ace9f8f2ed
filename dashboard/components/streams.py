"""The choice between the exchange's calls and the affiliate platform's postbacks."""

from collections.abc import Sequence

import streamlit as st

from dashboard.components import data
from dashboard.components.view import View
from dashboard.texts import tell

STREAMS = ("exchange", "postback")


def choose_stream(present: Sequence[str]) -> str:
    """The stream to look at; asked only where there are both."""
    if len(present) < 2:
        return present[0] if present else STREAMS[0]
    chosen = st.segmented_control(
        tell("stream.label"),
        present,
        default=present[0],
        key="stream",
        bind="query-params",
        required=True,
        label_visibility="collapsed",
    )
    return chosen or present[0]


def of_warehouse(view: View) -> list[str]:
    """The streams of which the warehouse has events."""
    return [stream for stream in STREAMS if data.has_stream(view.snapshot, stream)]
