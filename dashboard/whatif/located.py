"""JSON with the line of every value, so that a mistake in a file can be pointed at."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

DEEPEST = 40
_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r"true|false|null|NaN|-?Infinity|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
LONGEST_NUMBER = 40
"""Digits of a number: more are no setting, and cost time to read."""


@dataclass(frozen=True)
class Located:
    """A value and the line on which it begins.

    An object is a list of (key, line of the key, value), with keys as often as they stand there; an array a list of
    values; NaN and the infinities are floats.
    """

    value: Any
    line: int
    kind: str

    def plain(self) -> Any:
        """The value as `json.loads` has it; of equal keys the last counts."""
        if self.kind == "object":
            return {key: part.plain() for key, _, part in self.value}
        return [part.plain() for part in self.value] if self.kind == "array" else self.value


class NotJson(Exception):
    """What is wrong, and where: a line and a column, from 1."""

    def __init__(self, what: str, text: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


def parse(text: str) -> Located:
    """The one value in `text`. Raises NotJson."""
    value, at = _Reader(text).value(_skip(text, 0), 0)
    at = _skip(text, at)
    if at < len(text):
        raise NotJson("something stands behind the end", text, at)
    return value


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self._line, self._counted = 1, 0

    def line(self, at: int) -> int:
        """Line of a place; places are asked for in order."""
        self._line += self.text.count("\n", self._counted, at)
        self._counted = at
        return self._line

    def value(self, at: int, depth: int) -> tuple[Located, int]:
        if depth > DEEPEST:
            raise NotJson(f"nested deeper than {DEEPEST}", self.text, at)
        line = self.line(at)
        sign = self.text[at : at + 1]
        if sign == "{":
            return self.object(at, line, depth)
        if sign == "[":
            return self.array(at, line, depth)
        if sign == '"':
            content, end = self.string(at)
            return Located(content, line, "text"), end
        found = _PLAIN.match(self.text, at)
        if found is None:
            raise NotJson("a value is missing" if sign else "the text ends too early", self.text, at)
        return self.scalar(found.group(), at, line), found.end()

    def scalar(self, word: str, at: int, line: int) -> Located:
        if word in _WORDS:
            return Located(_WORDS[word], line, "null" if word == "null" else "boolean")
        if len(word) > LONGEST_NUMBER:
            raise NotJson("a number of too many digits", self.text, at)
        whole = word.lstrip("-").isdigit()
        return Located(int(word) if whole else float(word), line, "number")

    def string(self, at: int) -> tuple[str, int]:
        try:
            content, end = json.decoder.scanstring(self.text, at + 1, True)  # type: ignore[attr-defined]
        except json.JSONDecodeError as error:
            raise NotJson("a text is not closed or holds what JSON forbids", self.text, error.pos) from None
        return content, end

    def object(self, at: int, line: int, depth: int) -> tuple[Located, int]:
        members: list[tuple[str, int, Located]] = []
        at = _skip(self.text, at + 1)
        while self.text[at : at + 1] != "}" or members:
            if self.text[at : at + 1] != '"':
                raise NotJson("a key in quotes is missing", self.text, at)
            key_line = self.line(at)
            key, at = self.string(at)
            at = self.sign(_skip(self.text, at), ":")
            value, at = self.value(_skip(self.text, at), depth + 1)
            members.append((key, key_line, value))
            at = _skip(self.text, at)
            if self.text[at : at + 1] == "}":
                break
            at = _skip(self.text, self.sign(at, ","))
        return Located(members, line, "object"), at + 1

    def array(self, at: int, line: int, depth: int) -> tuple[Located, int]:
        items: list[Located] = []
        at = _skip(self.text, at + 1)
        while self.text[at : at + 1] != "]" or items:
            value, at = self.value(at, depth + 1)
            items.append(value)
            at = _skip(self.text, at)
            if self.text[at : at + 1] == "]":
                break
            at = _skip(self.text, self.sign(at, ","))
        return Located(items, line, "array"), at + 1

    def sign(self, at: int, wanted: str) -> int:
        """The place behind the sign that has to stand at `at`."""
        if self.text[at : at + 1] != wanted:
            raise NotJson(f"{wanted!r} is missing", self.text, at)
        return at + 1
