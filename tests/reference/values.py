"""Values as a native log writes them: JSON with its literals kept, numbers, texts and instants.

Every caster takes what the JSON held and returns the canonical value, or raises ValueError when the value does
not cast; what is absent (a missing key, null or an empty text) is told apart first, by `absent`.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

Cast = Callable[[Any], Any]


class Literal(str):
    """A JSON number exactly as the line wrote it."""


class Bare(str):
    """A bare NaN, Infinity or -Infinity token: a value that casts to nothing."""


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found.setdefault(key, value)
    return found


def parse_json(text: str) -> Any:
    """The JSON value of the whole text, numbers as literals; of two equal keys the first; else ValueError."""
    return json.loads(text, object_pairs_hook=_first_wins, parse_int=Literal, parse_float=Literal, parse_constant=Bare)


def absent(value: Any) -> bool:
    return value is None or (type(value) is str and value == "")


def to_text(value: Any) -> str:
    """Texts as they are, numbers by their literal; a boolean, a bare token or a nested value is no text."""
    if type(value) is str or isinstance(value, Literal):
        return str(value)
    raise ValueError("no text")


def to_number(value: Any) -> Decimal:
    text = to_text(value)
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        raise ValueError("no number")
    return Decimal(text)


def to_integer(value: Any) -> int:
    number = to_number(value)
    if abs(number) >= 2**63 or number != number.to_integral_value():
        raise ValueError("no integer")
    return int(number)


def to_duration(value: Any) -> Decimal:
    number = to_number(value)
    if number < 0:
        raise ValueError("a negative duration")
    return number


def to_money(value: Any) -> Decimal:
    number = to_number(value)
    if abs(number) >= 10**12:
        raise ValueError("beyond DECIMAL(18,6)")
    return number.quantize(Decimal("0.000001"))


def to_flag(value: Any) -> bool:
    if value is True or value == "true":
        return True
    if value is False or value == "false":
        return False
    raise ValueError("no boolean")


def to_loss_reason(value: Any) -> str:
    """The code as text, an integer where it is a number."""
    try:
        return str(to_integer(value))
    except ValueError:
        return to_text(value)


def to_retry_after(value: Any) -> str:
    """A whole number of seconds or an HTTP-date, as text."""
    text = to_text(value)
    if not re.fullmatch(r"[0-9]+", text):
        datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT")
    return text


def wait_us(text: str, since: int) -> int:
    """What a `Retry-After` asks for, in microseconds from the instant `since`; a date that is past asks for 0."""
    if re.fullmatch(r"[0-9]+", text):
        return int(text) * 1_000_000
    date = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    return max(0, micros(date) - since)


STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)", re.ASCII
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(instant: datetime) -> int:
    return (instant - EPOCH) // timedelta(microseconds=1)


EARLIEST = micros(datetime(2000, 1, 1, tzinfo=UTC))
TOO_LATE = micros(datetime(2101, 1, 1, tzinfo=UTC))


def _from_stamp(text: str) -> int:
    match = STAMP.fullmatch(text)
    if match is None:
        raise ValueError("no instant")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    whole = micros(datetime(year, month, day, hour, minute, second, tzinfo=UTC))
    fraction = int(((match[7] or "") + "000000")[:6])
    offset_hours, offset_minutes = int(match[9] or 0), int(match[10] or 0)
    if offset_hours > 23 or offset_minutes > 59:
        raise ValueError("no offset")
    sign = -1 if match[8] == "-" else 1
    return whole + fraction - sign * (offset_hours * 60 + offset_minutes) * 60_000_000


def _from_epoch(number: Decimal) -> int:
    if number < 10**11:
        return int(number * 1_000_000 // 1)
    if number < 10**14:
        return int(number * 1_000 // 1)
    if number < 10**17:
        return int(number // 1)
    return int(number // 1_000)


def to_instant(value: Any) -> int:
    """Microseconds since 1970 UTC, cut and not rounded; years 2000 to 2100 only."""
    try:
        number = to_number(value)
    except ValueError:
        instant = _from_stamp(to_text(value))
    else:
        if abs(number) > 10**30:
            raise ValueError("no instant")
        instant = _from_epoch(number)
    if not EARLIEST <= instant < TOO_LATE:
        raise ValueError("outside 2000 to 2100")
    return instant


def iso(instant: int | None) -> str | None:
    """ISO 8601 UTC with six digits, as the result tables show instants."""
    if instant is None:
        return None
    return (EPOCH + timedelta(microseconds=instant)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
