"""The choice between the exchange's calls and the affiliate platform's postbacks."""

from collections.abc import Sequence

import streamlit as st

from dashboard.components import choices, data
from dashboard.components.view import View
from dashboard.texts import in_every_language, tell, title

STREAMS = ("exchange", "postback")


def choose_stream(present: Sequence[str]) -> str:
    """The stream to look at; asked only where there are both."""
    if len(present) < 2:
        return present[0] if present else STREAMS[0]
    titles = {stream: title("stream", stream) for stream in present}
    chosen = st.segmented_control(
        tell("stream.label"),
        present,
        default=present[0],
        format_func=lambda stream: titles.get(stream, stream),
        key=choices.recall("stream", titles, lambda stream: in_every_language(f"stream.{stream}")),
        bind="query-params",
        required=True,
        label_visibility="collapsed",
    )
    return chosen or present[0]


def of_warehouse(view: View) -> list[str]:
    """The streams of which the warehouse has events."""
    return [stream for stream in STREAMS if data.has_stream(view.snapshot, stream)]
