"""The words of the pages, kept in texts.toml so that they can be read, corrected and translated in one place."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from dashboard.charts import style
from dashboard.escape import markdown, plain

FILE = Path(__file__).with_name("texts.toml")


@cache
def load() -> dict[str, Any]:
    """All texts, nested as in the file."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def say(key: str, **values: object) -> str:
    """The text `page.name` for a place that renders markdown: every value put into it is made inert."""
    return _find(key).format(**{name: markdown(_shape(value)) for name, value in values.items()})


def tell(key: str, **values: object) -> str:
    """The text `page.name` for a place that shows plain text."""
    return _find(key).format(**{name: plain(_shape(value)) for name, value in values.items()})


def table(key: str) -> dict[str, str]:
    """A group of texts as a mapping: titles by state, by column..."""
    found = _walk(key)
    return dict(found) if isinstance(found, dict) else {}


def title(group: str, name: object) -> str:
    """The title of a code in a group, or the code itself in readable form."""
    return table(group).get(str(name), str(name).replace("_", " "))


def _find(key: str) -> str:
    found = _walk(key)
    if not isinstance(found, str):
        raise KeyError(f"no text {key!r} in {FILE.name}")
    return found


def _walk(key: str) -> object:
    here: object = load()
    for part in key.split("."):
        here = here.get(part) if isinstance(here, dict) else None
    return here


def _shape(value: object) -> object:
    """Whole numbers are grouped by thousands; None is said."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return style.count(value)
    return value
