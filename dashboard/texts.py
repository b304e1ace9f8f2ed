"""The words of the pages, kept in `words/` so that they can be read, corrected and translated in one place.

`words/*.toml` is English. `words/<language>/*.toml` has the same files with the same keys; a text that a language lacks
is shown in English. `words/<language>/dictionary.toml` translates the dictionary of metrics: a group a metric, by its
name, with `title`, `definition`, `numerator` and `denominator`, each where there is one. `codes.toml` does so for
no-bid codes: a group a code, and one a class for those outside the standard's list, with `name`, `owner`, `remedy`.

A text is a string with {placeholders}. Where its wording depends on a number it is a table of plural forms, named as in
CLDR; the number is that of the placeholder `n`, or of the one that `by` names:

    lost = { one = "{n} order is lost", other = "{n} orders are lost" }
    over = { by = "rows", one = "Over in this one window", other = "Over in these {rows} windows" }

English has `one` and `other`; Russian and Ukrainian `one` (1, 21), `few` (2 to 4, 22), `many` (0, 5 to 20) and `other`
(1.5). A form that is missing is said as `other`, then as `many`. A unit stands in forms too: `counted` picks one by the
number before it; by itself it is the form of many. A language may have forms where English has a string, and the other
way round.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dashboard import languages
from dashboard.escape import markdown, plain
from dashboard.languages import FORMS, LANGUAGES, Language

FOLDER = Path(__file__).with_name("words")
DICTIONARY, CODES = "dictionary.toml", "codes.toml"
APART = (DICTIONARY, CODES)
"""Files that translate tables of the snapshot, which English has from there."""

DICTIONARY_FIELDS = ("title", "definition", "numerator", "denominator")


class Plural(str):
    """A text with plural forms; as a string it is the form of many."""

    forms: Mapping[str, str]
    by: str
    language: Language

    @classmethod
    def of(cls, table: Mapping[str, str], language: Language) -> "Plural":
        """From a table of the words of a language."""
        forms = {name: text for name, text in table.items() if name in FORMS}
        made = cls(forms.get("many") or forms.get("other") or next(iter(forms.values())))
        made.forms, made.by, made.language = forms, table.get("by", "n"), language
        return made

    def form(self, n: object) -> str:
        """The form for a number; that of many where it is none."""
        if not isinstance(n, int | float) or isinstance(n, bool):
            return str(self)
        return self.forms.get(self.language.plural(n)) or self.forms.get("other") or str(self)


def is_plural(value: object) -> bool:
    """Whether a table of the words is one text in its plural forms, and no group of texts."""
    return (
        isinstance(value, dict)
        and bool(value)
        and set(value) <= {*FORMS, "by"}
        and len(value) > 1
        and all(isinstance(text, str) for text in value.values())
    )


@cache
def load(code: str = languages.ENGLISH.code) -> dict[str, Any]:
    """All texts of a language, nested as in the files, English where it has none.

    A group may be spread over several files, a text may not stand twice.
    """
    english = code == languages.ENGLISH.code
    texts: dict[str, Any] = {}
    for path in sorted((FOLDER if english else FOLDER / code).glob("*.toml")):
        if english or path.name not in APART:
            _add(texts, tomllib.loads(path.read_text(encoding="utf-8")), LANGUAGES[code], path.name)
    return texts if english else _over(load(), texts)


def _add(texts: dict[str, Any], more: dict[str, Any], language: Language, file: str, inside: str = "") -> None:
    for name, told in more.items():
        value = Plural.of(told, language) if is_plural(told) else told
        here = texts.setdefault(name, {} if isinstance(value, dict) else value)
        if isinstance(value, dict) and isinstance(here, dict):
            _add(here, value, language, file, f"{inside}{name}.")
        elif here is not value:
            raise ValueError(f"{file}: the text {inside}{name} stands twice")


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        here = below.get(name)
        if isinstance(value, dict) and isinstance(here, dict):
            merged[name] = _over(here, value)
        elif isinstance(value, str) and (here is None or isinstance(here, str)):
            merged[name] = value
    return merged


def say(key: str, **values: object) -> str:
    """The text `page.name` for a place that renders markdown: every value put into it is made inert."""
    return _put(key, values, markdown)


def tell(key: str, **values: object) -> str:
    """The text `page.name` for a place that shows plain text."""
    return _put(key, values, plain)


def table(key: str) -> dict[str, str]:
    """A group of texts as a mapping: titles by state, by column..."""
    found = _walk(key)
    return dict(found) if isinstance(found, dict) else {}


def title(group: str, name: object) -> str:
    """The title of a code in a group, or the code itself in readable form."""
    return table(group).get(str(name), str(name).replace("_", " "))


def counted(unit: str, n: float | None) -> str:
    """A unit as `tell` gives it, in the form that the number before it asks for."""
    return unit.form(n) if isinstance(unit, Plural) else unit


def metric(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the dictionary of metrics in the session's language, as far as it is translated."""
    return dict(row) | dictionary(languages.current().code).get(str(row["name"]), {})


@cache
def dictionary(code: str) -> dict[str, dict[str, str]]:
    """Metric -> its translated fields."""
    path = FOLDER / code / DICTIONARY
    found: dict[str, dict[str, str]] = {}
    if path.is_file():
        _flatten(tomllib.loads(path.read_text(encoding="utf-8")), "", found)
    return found


def no_bid(row: Mapping[str, Any], code: object) -> dict[str, Any]:
    """A row about a no-bid code in the session's language: its name, and owner and remedy where it has them."""
    known = codes(languages.current().code)
    told = known.get(str(code)) or known.get(str(row["class"])) or {}
    return dict(row) | {field: text for field, text in told.items() if field in row}


@cache
def codes(code: str) -> dict[str, dict[str, str]]:
    """No-bid code, or class of those outside the list -> its translated fields."""
    path = FOLDER / code / CODES
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _flatten(group: Mapping[str, Any], name: str, found: dict[str, dict[str, str]]) -> None:
    fields = {field: text for field in DICTIONARY_FIELDS if isinstance(text := group.get(field), str)}
    if fields:
        found[name] = fields
    for part, inner in group.items():
        if isinstance(inner, dict):
            _flatten(inner, f"{name}.{part}" if name else part, found)


def in_every_language(key: str) -> set[str]:
    """A text as each language has it, to understand what an address says in another one."""
    return {text for code in LANGUAGES if isinstance(text := _walk(key, code), str)}


def _put(key: str, values: Mapping[str, object], harmless: Callable[[object], str]) -> str:
    found = _walk(key)
    if not isinstance(found, str):
        raise KeyError(f"no text {key!r} in {FOLDER.name}/")
    if isinstance(found, Plural):
        if not values:
            return found
        found = found.form(values.get(found.by))
    return found.format(**{name: harmless(_shape(value)) for name, value in values.items()})


def _walk(key: str, code: str | None = None) -> object:
    here: object = load(code or languages.current().code)
    for part in key.split("."):
        here = here.get(part) if isinstance(here, dict) else None
    return here


def _shape(value: object) -> object:
    """Numbers get the language's separators; None is said."""
    if value is None:
        return tell("shape.unknown")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return languages.current().number(f"{value:,}")
    return value
