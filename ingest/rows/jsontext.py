"""JSON as logs write it, read without losing anything: literals of numbers, bare NaN, the first of equal keys."""

from __future__ import annotations

import json
import re

#: Deepest nesting that is read; what is deeper is no event, and would exhaust the parser.
MAX_DEPTH = 200

JsonValue = object


class Number(str):
    """A JSON number exactly as it was written."""

    __slots__ = ()


class Bare(str):
    """A bare NaN or Infinity token: a value that is there and casts to nothing."""

    __slots__ = ()


_BARE = re.compile(r'"(?:[^"\\]|\\.)*"|-?(?:infinity|inf|nan)', re.IGNORECASE | re.DOTALL)
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


def _first_wins(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found = {}
        for key, value in pairs:
            found.setdefault(key, value)
    return found


_decode = json.JSONDecoder(
    object_pairs_hook=_first_wins, parse_int=Number, parse_float=Number, parse_constant=Bare
).decode


def _one_spelling(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else "NaN"


def too_deep(text: str) -> bool:
    """Whether `text` nests deeper than `MAX_DEPTH`."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    depth = 0
    for match in _NESTING.finditer(text):
        if match[0] in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif match[0] in "}]":
            depth -= 1
    return False


def parse(text: str) -> JsonValue:
    """The one JSON value that `text` is, else ValueError with a short reason.

    Numbers come as `Number`, bare NaN and Infinity (any case, as C prints them too) as `Bare`.
    """
    if too_deep(text):
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    try:
        return _decode(text)
    except ValueError:
        low = text.lower()
        if "nan" not in low and "inf" not in low:
            raise
        mended = _BARE.sub(_one_spelling, text)
        if mended == text:
            raise
        return _decode(mended)
    except RecursionError:
        raise ValueError("nested too deep") from None
