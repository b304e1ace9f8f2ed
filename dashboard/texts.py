"""The words of the pages, kept in `words/*.toml` so that they can be read, corrected and translated in one place."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from dashboard.charts import style
from dashboard.escape import markdown, plain

FOLDER = Path(__file__).with_name("words")


@cache
def load() -> dict[str, Any]:
    """All texts, nested as in the files; a group may be spread over several, a text may not stand twice."""
    texts: dict[str, Any] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        _add(texts, tomllib.loads(path.read_text(encoding="utf-8")), path.name)
    return texts


def _add(texts: dict[str, Any], more: dict[str, Any], file: str, inside: str = "") -> None:
    for name, value in more.items():
        here = texts.setdefault(name, {} if isinstance(value, dict) else value)
        if isinstance(value, dict) and isinstance(here, dict):
            _add(here, value, file, f"{inside}{name}.")
        elif here is not value:
            raise ValueError(f"{file}: the text {inside}{name} stands twice")


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
        raise KeyError(f"no text {key!r} in {FOLDER.name}/")
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
