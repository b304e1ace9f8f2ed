"""What pages make of results, such as charts, made once for all sessions that look at the same."""

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from dashboard import languages
from dashboard.components import data
from dashboard.components.data import Result
from dashboard.components.view import View

Made = TypeVar("Made")

MOST_MADE = 384
"""Things that are kept, the last used: about what the pages of five choices of filters hold."""


def made(view: View, name: str, result: Result, make: Callable[[], Made], *more: object) -> Made:
    """What `make` gives, from an earlier run where there was one with the same view, language and `more`.

    It goes by `name`, which tells what is made of the result; `more` is what else it depends on. Sessions share it:
    they read it, and change nothing. Of a result that cannot be known again all is made anew.
    """
    known = result.asked or result.known
    if not known:
        return make()
    told: Made = _made(repr((name, view.looked_at, languages.current().code, known, more)), make)
    return told


@st.cache_resource(ttl=data.KEEP_S, max_entries=MOST_MADE, show_spinner=False)
def _made(told: str, _make: Callable[[], Any]) -> Any:
    return _make()
