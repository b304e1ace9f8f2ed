"""Widgets whose options are written in the session's language: their value lasts when the language changes.

A widget tells its choice, and writes it into the address, by the option's label. So the values are put back while the
old labels are still known, and an address is understood in whatever language it was written.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

_LABELLED = "_labelled"


def labelled(key: str) -> str:
    """Notes that the options of the widget with this key are written in the session's language."""
    st.session_state.setdefault(_LABELLED, set()).add(key)
    return key


def recall(key: str, titles: Mapping[str, str], labels: Callable[[str], Collection[str]]) -> str:
    """To call before a labelled widget that is bound to the address: takes what the address names by another
    language's label, or by the option itself, and starts over, so that the address is written anew.

    `titles` are the options with their labels, `labels` gives an option's labels in every language.
    """
    asked = st.query_params.get(key)
    if asked is not None and asked not in titles.values() and key not in st.session_state:
        found = next((option for option in titles if asked == option or asked in labels(option)), None)
        if found is not None:
            _rewrite(key, titles[found], found)
    return labelled(key)


def _rewrite(key: str, title: str, option: str) -> None:
    try:
        st.query_params[key] = title
    except StreamlitAPIException:
        # Bound on a page that was open before: its value can be set, its address only by the widget itself.
        st.session_state[key] = option
        return
    st.rerun()


def hold() -> None:
    """For the change of the language: what was chosen by the old labels stays chosen."""
    kept: dict[str, Any] = {
        key: st.session_state[key] for key in st.session_state.get(_LABELLED, ()) if key in st.session_state
    }
    st.session_state.update(kept)
