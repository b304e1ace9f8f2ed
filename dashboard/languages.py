"""The languages of the pages: which one a session reads, and how it writes numbers, dates and counted things.

English is the language of the sources: what another one lacks is shown in English, text by text. Only pages ask here;
the command line, reports, CSV and JSON know no language.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

KEY = "language"
"""Name of the choice in the address and in the session."""

FORMS = ("one", "few", "many", "other")
"""Plural forms by their names in CLDR."""


def english(n: float) -> str:
    """Plural form of a number: 1 call, 2 calls."""
    return "one" if n == 1 else "other"


def east_slavic(n: float) -> str:
    """Plural form of a number in Russian and Ukrainian: 1 and 21 are one, 2 to 4 few, 5 to 20 many, 1.5 is other."""
    if n != int(n):
        return "other"
    last, two = abs(int(n)) % 10, abs(int(n)) % 100
    if last == 1 and two != 11:
        return "one"
    return "few" if 2 <= last <= 4 and not 12 <= two <= 14 else "many"


@dataclass(frozen=True)
class Language:
    """How a language writes. Dates are patterns of strftime, which d3 reads too, and of the tables' grid."""

    code: str
    name: str
    plural: Callable[[float], str]
    thousands: str = ","
    decimal: str = "."
    per_cent: str = "%"
    date: str = "%Y-%m-%d"
    day: str = "%d %b"
    days: str = "%d %b\n%Y"
    hover: str | None = None
    grid_time: str = "YYYY-MM-DD HH:mm:ss"

    def number(self, text: str) -> str:
        """A number that Python wrote (1,234.5) with this language's separators."""
        return text.translate({ord(","): self.thousands, ord("."): self.decimal})


_POINTS = {"date": "%d.%m.%Y", "day": "%d.%m", "days": "%d.%m\n%Y", "hover": "%d.%m.%Y %H:%M:%S"}
_SPACED = {"thousands": "\u00a0", "decimal": ",", "per_cent": "\u00a0%", "grid_time": "DD.MM.YYYY HH:mm:ss"}

ENGLISH = Language("en", "English", english)
LANGUAGES = {
    language.code: language
    for language in (
        ENGLISH,
        Language("ru", "Русский", east_slavic, **_POINTS, **_SPACED),
        Language("uk", "Українська", east_slavic, **_POINTS, **_SPACED),
    )
}

_chosen: ContextVar[Language | None] = ContextVar("language", default=None)
"""The language of this thread's session, so that not every text asks the session; a thread serves one session."""


def current() -> Language:
    """The language of the session that runs in this thread; English outside of any."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return ENGLISH
    return _chosen.get() or settle()


def settle() -> Language:
    """Finds the session's language anew, once a rerun: chosen beside the page, else in the address, else usual."""
    asked = st.session_state.get(KEY) or named(st.query_params.get(KEY))
    language = LANGUAGES.get(asked or "") or usual()
    _chosen.set(language)
    return language


def usual() -> Language:
    """The browser's language where it is one of ours, else English."""
    return LANGUAGES.get((st.context.locale or "").replace("_", "-").split("-")[0].lower(), ENGLISH)


def named(text: str | None) -> str | None:
    """The code of a language that an address names by its code or its name."""
    return next((code for code, language in LANGUAGES.items() if text in (code, language.name)), None)
