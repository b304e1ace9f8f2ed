"""What one value is: a cast for each type that a format may name.

A cast takes a value that is there (JSON as `jsontext` reads it, or the text of a cell) and gives the canonical
value, or raises NotCast with words that follow the key's name. Absent values never reach a cast.
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from zoneinfo import ZoneInfo

from ingest.rows.jsontext import Bare, JsonValue, Number
from ingest.rows.times import parse_time, to_us


class NotCast(ValueError):
    """A value that is there and does not cast."""


Cast = Callable[[JsonValue], object]

#: ASCII white space, which surrounds numbers in texts and is no part of them.
BLANKS = " \t\n\r\v\f"
BIGINT_END = 2**63
#: Whole numbers below it are what their double says; beyond it only the digits are exact.
EXACT_DOUBLE = 2**53
CENT = Decimal("0.000001")
MONEY_END = Decimal(10) ** 12

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_CODE = re.compile(r"([0-9]+)(?:\.0)?")
_SECONDS = re.compile(r"[0-9]+(?:\.0)?")
#: The three forms of RFC 9110, 5.6.7, in the order in which they are tried.
HTTP_DATES = ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y")
#: The query of a URL; and what looks like one, with `=` in it, behind any question mark.
_QUERY = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'?]*\?|\?(?=[^\s\"'?]*=))[^\s\"']+")
BREAKER_STATES = ("closed", "open", "half_open")


def is_absent(value: JsonValue) -> bool:
    """Only a missing key, null and the empty text are absent."""
    return value is None or value == ""


def to_text(value: JsonValue) -> str:
    """Texts as they are, numbers by their literal; a boolean or a nested value is no text."""
    if not isinstance(value, str) or isinstance(value, Bare):
        raise NotCast("is no text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotCast("holds bytes that are no UTF-8") from None
    return str(value)


def number_text(value: JsonValue) -> str:
    """The digits of a finite number, quoted or not, without the blanks around them."""
    if not isinstance(value, str):
        raise NotCast("is no number")
    text = value.strip(BLANKS)
    if not _NUMBER.fullmatch(text) or math.isinf(float(text)):
        raise NotCast("is no number")
    return text


def to_duration(value: JsonValue) -> float:
    number = float(number_text(value))
    if number < 0:
        raise NotCast("is negative")
    return abs(number)


def to_integer(value: JsonValue) -> int:
    """A whole number that fits a BIGINT; `503.0` is one."""
    text = number_text(value)
    number = float(text)
    if abs(number) >= EXACT_DOUBLE:
        exact = Decimal(text)
        if exact != exact.to_integral_value() or not -BIGINT_END <= exact < BIGINT_END:
            raise NotCast("is no whole number")
        return int(exact)
    if not number.is_integer():
        raise NotCast("is no whole number")
    return int(number)


def to_status(value: JsonValue) -> int | None:
    """An HTTP status; 0 means that there was none."""
    return to_integer(value) or None


def to_money(value: JsonValue) -> Decimal:
    """DECIMAL(18,6), rounded half up; what does not fit is no price."""
    return round_money(Decimal(number_text(value)))


def round_money(number: Decimal) -> Decimal:
    """`number` as DECIMAL(18,6), else NotCast."""
    if abs(number) >= MONEY_END:
        raise NotCast("is too large")
    try:
        rounded = number.quantize(CENT, ROUND_HALF_UP)
    except InvalidOperation:
        raise NotCast("is no number") from None
    if abs(rounded) >= MONEY_END:
        raise NotCast("is too large")
    return rounded + 0


def to_flag(value: JsonValue) -> bool:
    if isinstance(value, bool):
        return value
    flag = {"true": True, "1": True, "false": False, "0": False}.get(value.lower() if isinstance(value, str) else "")
    if flag is None:
        raise NotCast("is neither true nor false")
    return flag


def to_state(value: JsonValue) -> str:
    """A breaker state in any case, its words parted by `_`, `-` or a blank."""
    word = re.sub("[-_ ]", "", value.lower()) if isinstance(value, str) else ""
    state = {state.replace("_", ""): state for state in BREAKER_STATES}.get(word)
    if state is None:
        raise NotCast(f"is none of {', '.join(BREAKER_STATES)}")
    return state


def to_breaker(value: JsonValue) -> str | None:
    """The state that an attempt reports; an unknown word is no state."""
    try:
        return to_state(value)
    except NotCast:
        return None


def to_not_sent(value: JsonValue) -> str | None:
    """Why an attempt was not sent, in lower case; `false` and 0 say that it was."""
    if isinstance(value, bool):
        return "true" if value else None
    if not isinstance(value, str):
        return "true"
    word = plain_json(value).lower() if type(value) is not str else value.lower()
    return None if word in ("false", "0") else storable(word)


def to_error(value: JsonValue) -> str:
    """The words of an error as they are, but for the queries of URLs in them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = plain_json(value) if type(value) is not str else value
    return _QUERY.sub(r"\1***", storable(text))


def to_path(value: JsonValue) -> str:
    """A path without its query, which may name a person."""
    return to_text(value).partition("?")[0]


def to_hash(value: JsonValue) -> str:
    """A digest; a raw address in its place is not kept."""
    text = to_text(value)
    try:
        ipaddress.ip_address(text.strip("[]" + BLANKS).partition("%")[0])
    except ValueError:
        return text
    raise NotCast("is a raw address")


def to_loss_reason(value: JsonValue) -> str:
    """A code (a whole number where it is a number) or a word."""
    try:
        number_text(value)
    except NotCast:
        return to_text(value)
    return str(to_integer(value))


def to_code(value: JsonValue) -> str:
    """A no-bid code as its digits, without leading zeros; all else that is there is `invalid`."""
    if isinstance(value, Number):
        number = float(value)
        if math.isinf(number) or number < 0 or not number.is_integer():
            return "invalid"
        return str(int(number)) if number < EXACT_DOUBLE else str(int(Decimal(value)))
    match = _CODE.fullmatch(value) if isinstance(value, str) and not isinstance(value, Bare) else None
    return match[1].lstrip("0") or "0" if match else "invalid"


def to_seconds(value: JsonValue, answered_us: float) -> float:
    """Retry-After: whole seconds, or the time from `answered_us` to an HTTP-date, 0 where that is past."""
    text = to_text(value).strip(BLANKS)
    if _SECONDS.fullmatch(text):
        return float(to_integer(text))
    for form in HTTP_DATES:
        try:
            instant = datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return max(0.0, (to_us(instant) - answered_us) / 1_000_000)
    raise NotCast("is neither whole seconds nor an HTTP-date")


def storable(text: str) -> str:
    """`text` with what is no Unicode (stray bytes, half a surrogate pair) replaced."""
    return text.encode("utf-8", "replace").decode()


def plain_json(value: JsonValue) -> str:
    """Compact JSON of a parsed value, its numbers as they were written (but -0 is 0)."""
    if isinstance(value, Number) and value == "-0":
        return "0"
    if isinstance(value, (Number, Bare)):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{plain_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(plain_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def casts(zone: ZoneInfo | None) -> dict[str, Cast]:
    """Type -> cast; times without an offset are placed in `zone`."""

    def to_time(value: JsonValue) -> int:
        text = to_text(value)
        try:
            return parse_time(text, zone)
        except ValueError as error:
            raise NotCast(str(error)) from None

    return {
        "time": to_time,
        "text": to_text,
        "integer": to_integer,
        "status": to_status,
        "duration": to_duration,
        "money": to_money,
        "flag": to_flag,
        "state": to_state,
        "breaker": to_breaker,
        "not_sent": to_not_sent,
        "error": to_error,
        "path": to_path,
        "hash": to_hash,
        "loss_reason": to_loss_reason,
        "nbr": to_code,
    }
