"""The one way by which strings from outside (names, keys, endpoints, codes, raw text) reach a page.

Markdown and chart labels interpret what they are given: images are fetched, links and formulas are drawn, a long
name pushes everything else away. Each function here returns text that such a place shows letter by letter.
"""

import hashlib
import re
import string
import unicodedata

UNKNOWN = "unknown"
"""Stands for a name that no log told."""

BLANK = "\u2423"
"""Stands for a name of nothing but spaces, which would not be seen."""

MOST_MARKS = 3
"""Combining marks on one letter; more of them pile up over the lines around."""

LABEL_LIMIT = 60
"""Longest outside string shown in running text or on a chart, in characters."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MARKS = {"Mn", "Me"}
_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in string.punctuation})
_REPLACED = re.compile(r":(?=[^\W\d]|[/+-]|1234:|100:|8ball:)|@|www(?=\.)|[-<>~=](?=[-<>=])", re.IGNORECASE)
"""What is found and replaced in text after its marks were read (links, mail addresses, emoji, arrows): a backslash
before it does not help, an invisible word joiner inside does."""
_PLOTLY = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "{": "&#123;", "}": "&#125;"})


def name_of(text: object) -> str:
    """The whole text; None is said."""
    return UNKNOWN if text is None else str(text)


def plain(text: object, limit: int = LABEL_LIMIT) -> str:
    """One line of visible characters, at most `limit` long; text that was cut ends in an ellipsis and a short digest.

    Control characters, direction overrides, lone surrogates and unassigned code points become U+FFFD, nothing but
    spaces an open box. The digest keeps two long names apart that begin alike.
    """
    whole = name_of(text)
    visible, complete = _visible(whole, limit)
    if complete:
        return visible
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:4]
    return f"{visible[: limit - 6]}… {digest}"


def brief(text: object, limit: int) -> str:
    """As `plain`, but cut text ends in the ellipsis alone: for places where the row says which name it is."""
    visible, complete = _visible(name_of(text), limit)
    return visible if complete else f"{visible[: limit - 1]}…"


def _visible(whole: str, limit: int) -> tuple[str, bool]:
    """Enough of a text in visible characters, and whether that is all of it."""
    head = " ".join(whole[: 4 * limit].split()) or (BLANK if whole else "")
    letters: list[str] = []
    marks, dropped = 0, False
    for letter in head:
        category = unicodedata.category(letter)
        marks = marks + 1 if category in _MARKS else 0
        if marks > MOST_MARKS:
            dropped = True
        else:
            letters.append("\ufffd" if category in _HIDDEN else letter)
    visible = "".join(letters)
    return visible, len(visible) <= limit and len(whole) <= 4 * limit and not dropped


def markdown(text: object, limit: int = LABEL_LIMIT) -> str:
    """Text for st.markdown and everything that renders markdown: labels, captions, metrics, help, tabs."""
    return _REPLACED.sub("\\g<0>\u2060", plain(text, limit)).translate(_MARKDOWN)


def plotly(text: object, limit: int = LABEL_LIMIT) -> str:
    """Text for a Plotly label, hover or legend, which know tags, entities, formulas and templates."""
    return plain(text, limit).translate(_PLOTLY)
