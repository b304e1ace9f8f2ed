"""The tests' own reading of native lines: what each one is, by the specification and without the product's code."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

Verdict = Literal["fact", "reject", "blank", "repeated"]
NOTICES = ("win", "billing", "loss", "impression", "click")
REQUIRED = {
    "attempt": ("ts", "auction_id", "partner"),
    "auction": ("ts", "auction_id"),
    **dict.fromkeys(NOTICES, ("ts", "auction_id")),
    "breaker": ("ts", "partner", "state_to"),
    "postback": ("ts", "key_id", "http_status"),
}
#: Deeper JSON is no event.
DEEPEST = 200
WEEK_US = 7 * 86_400_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_US, END_US = (
    int((datetime(year, 1, 1, tzinfo=UTC) - EPOCH).total_seconds()) * 1_000_000 for year in (2000, 2101)
)
STATES = ("closed", "open", "halfopen")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
STAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|-?(?:nan|infinity|inf)\b|[\[\]{}]', re.IGNORECASE | re.DOTALL)


class Literally(str):
    """A JSON number as it was written."""


class NoValue:
    """A bare NaN or Infinity: there, and nothing."""


@dataclass
class Reading:
    """What the lines of a file are: their number by verdict, and the numbers (from 1) of the rejected ones."""

    counts: Counter[str] = field(default_factory=Counter)
    rejects: list[int] = field(default_factory=list)


def read_file(content: bytes) -> Reading:
    """The lines of a whole file that ends with a line end."""
    reading, kept = Reading(), {}
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        verdict = read_line(line, kept)
        reading.counts[verdict] += 1
        if verdict == "reject":
            reading.rejects.append(number)
    return reading


def read_line(line: bytes, kept: dict[tuple[str, str], list[int]]) -> Verdict:
    """What a line without its LF is; `kept` holds the times of the facts that carried an event id."""
    text = line.removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").strip(" \t\r")
    if not text:
        return "blank"
    try:
        event = parse(text)
        if not isinstance(event, dict):
            raise ValueError("no object")
        kind = event.get("event")
        values = {key: CASTS[key](event.get(key)) for key in REQUIRED[kind if type(kind) is str else ""]}
    except (ValueError, KeyError, RecursionError):
        return "reject"
    try:
        mark = (kind, as_text(event.get("event_id")))
    except ValueError:
        return "fact"
    times = kept.setdefault(mark, [])
    if any(abs(values["ts"] - us) <= WEEK_US for us in times):
        return "repeated"
    times.append(values["ts"])
    return "fact"


def parse(text: str) -> Any:
    """The JSON value that `text` is; of two equal keys the first. ValueError where it is none, or nests too deep."""
    if text.count("[") + text.count("{") > DEEPEST and _depth(TOKEN.findall(text)) > DEEPEST:
        raise ValueError("too deep")
    try:
        return _loads(text)
    except ValueError:
        if not re.search("nan|inf", text, re.IGNORECASE):
            raise
    return _loads(TOKEN.sub(lambda token: token[0] if token[0][0] in '"[]{}' else "NaN", text))


def _loads(text: str) -> Any:
    return json.loads(
        text, object_pairs_hook=_first, parse_int=Literally, parse_float=Literally, parse_constant=lambda _: NoValue()
    )


def _first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def _depth(tokens: Iterable[str]) -> int:
    depth = deepest = 0
    for token in tokens:
        if token in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "}]":
            depth -= 1
    return deepest


def as_text(value: Any) -> str:
    """A text that is there, or a number by its literal."""
    if not isinstance(value, str) or not value:
        raise ValueError("no text")
    value.encode()
    return str(value)


def as_status(value: Any) -> int:
    """A whole number that is not 0."""
    text = as_text(value).strip(" \t\n\r\v\f")
    if not NUMBER.fullmatch(text) or abs(float(text)) > 1e30:
        raise ValueError("no number")
    number = Decimal(text)
    if number != int(number) or not number or not -(2**63) <= number < 2**63:
        raise ValueError("no status")
    return int(number)


def as_state(value: Any) -> str:
    """One of the three states, in any case."""
    if type(value) is not str or re.sub("[-_ ]", "", value.lower()) not in STATES:
        raise ValueError("no state")
    return value


def as_us(value: Any) -> int:
    """An instant in microseconds."""
    text = as_text(value)
    stamp = STAMP.fullmatch(text)
    if stamp:
        day, clock, fraction, sign, hours, minutes = stamp.groups()
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        if int(hours or 0) > 23 or int(minutes or 0) > 59:
            raise ValueError("no offset")
        told = datetime.strptime(f"{day} {clock}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) - EPOCH
        told = told + offset if sign == "-" else told - offset
        us = told // timedelta(microseconds=1) + int(f"{fraction or ''}000000"[:6])
        if clock.endswith(":60"):
            raise ValueError("a leap second")
    elif re.fullmatch(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text) and float(text) < 1e20:
        number = Decimal(text)
        us = int(number * (10**6 if number < 10**11 else 10**3 if number < 10**14 else 1))
        us = us if number < 10**17 else int(number) // 1000
    else:
        raise ValueError("no instant")
    if not FIRST_US <= us < END_US:
        raise ValueError("no instant of these times")
    return us


CASTS = {
    "ts": as_us, "auction_id": as_text, "partner": as_text, "key_id": as_text, "http_status": as_status,
    "state_to": as_state,
}  # fmt: skip
