"""The definition of how a record of a foreign format is split: what the engine splits otherwise is read again by it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ingest.formats.spec import Foreign
from ingest.rows.jsontext import JsonValue
from ingest.rows.raw import Raw
from ingest.rows.record import BOM, Reject, read_object
from ingest.rows.values import plain_json

_PAIR = re.compile(r'\s*([\w.$-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))(?=\s|$)', re.DOTALL | re.ASCII)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
#: Characters of an expression that a reason quotes.
SHOWN = 60


class Splitter:
    """Splits the records of one foreign format."""

    def __init__(self, fmt: Foreign) -> None:
        self._splitting = fmt.splitting
        # The engine's classes, such as \\s, are of ASCII.
        self._prefix = re.compile(fmt.splitting.prefix, re.ASCII)
        self._whole = re.compile("".join(fmt.splitting.parts), re.ASCII)

    def split(self, raw: Raw) -> dict[str, str | None]:
        """Column -> text of a record, None where it is absent; raises Reject with the part that did not match."""
        if raw.fault is not None:
            raise Reject(raw.fault)
        splitting = self._splitting
        if raw.values is not None:
            found = {name: _text(raw.values.get(path[0])) or None for name, path in splitting.columns.items()}
        elif splitting.kind == "json":
            found = self._json(raw.data)
        else:
            line = raw.data.removeprefix(BOM).rstrip(b"\r\n").decode("utf-8", "surrogateescape")
            split = {"pairs": self._pairs, "regex": self._regex, "cells": self._cells}[splitting.kind]
            found = {name: text or None for name, text in split(line).items()}
        for name, text in found.items():
            if text is not None:
                if text in splitting.unset:
                    found[name] = None
                elif not text.isascii():
                    _check_unicode(name, text)
        return found

    def _json(self, line: bytes) -> dict[str, str | None]:
        text = line.removeprefix(BOM).decode("utf-8", "surrogateescape")
        groups, rest = self._behind_prefix(text)
        value = read_object(rest.encode("utf-8", "surrogateescape"))
        paths = self._splitting.columns.items()
        texts = {name: groups[name] if name in groups else _text(_at(value, path)) for name, path in paths}
        return {name: self._splitting.empty if text == "" else text for name, text in texts.items()}

    def _pairs(self, line: str) -> dict[str, str | None]:
        groups, rest = self._behind_prefix(line)
        found: dict[str, str] = {}
        at = 0
        while rest[at:].strip():
            match = _PAIR.match(rest, at)
            if match is None:
                raise Reject(f"no key=value pair at character {len(line) - len(rest) + at + 1}")
            key, quoted, bare = match.groups()
            found.setdefault(key, bare if quoted is None else _ESCAPE.sub(_unescaped, quoted))
            at = match.end()
        columns = self._splitting.columns.items()
        return {name: groups[name] if name in groups else found.get(path[0]) for name, path in columns}

    def _regex(self, line: str) -> dict[str, str | None]:
        match = self._whole.fullmatch(line)
        if match is None:
            raise Reject(_mismatch(self._splitting.parts, line))
        return dict(match.groupdict())

    def _cells(self, line: str) -> dict[str, str | None]:
        cells = line.split(self._splitting.separator)
        for layout in self._splitting.layouts:
            if len(layout.columns) == len(cells):
                named = dict(zip(layout.columns, cells, strict=True)) | {"layout": layout.name}
                return {name: named.get(name) for name in self._splitting.columns}
        known = " or ".join(f"{len(layout.columns)} ({layout.name})" for layout in self._splitting.layouts)
        raise Reject(f"{len(cells)} cells; expected {known}")

    def _behind_prefix(self, text: str) -> tuple[Mapping[str, str | None], str]:
        match = self._prefix.match(text)
        if match is None:
            raise Reject(f"does not begin with {self._splitting.prefix[:SHOWN]}")
        return match.groupdict(), text[match.end() :]


def _mismatch(parts: tuple[str, ...], line: str) -> str:
    """Which part of the pattern does not match, and where."""
    end = 0
    for number, part in enumerate(parts):
        match = re.match("".join(parts[: number + 1]), line, re.ASCII)
        if match is None:
            names = ", ".join(re.compile(part).groupindex) or "text"
            return f"does not match at character {end + 1}: {names} as {part[:SHOWN]}"
        end = match.end()
    return f"goes on behind what matches, at character {end + 1}"


def _at(value: JsonValue, path: tuple[str, ...]) -> JsonValue:
    for key in path:
        if isinstance(value, list):
            value = value[int(key)] if key.isdecimal() and int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: JsonValue) -> str | None:
    """A scalar as it was written, a text as it is, what is nested as JSON."""
    if value is None or type(value) is str:
        return value
    return plain_json(value)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) == 3 else code


def _check_unicode(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Reject(f"{name} holds bytes that are no UTF-8") from None
