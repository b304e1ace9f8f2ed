"""Values as text: exact numbers, UTC times, and strings that can neither steer a terminal nor start a formula."""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

#: Control characters, line and paragraph separators, direction marks and overrides, halves of surrogate pairs.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_HIDDEN_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_QUOTED = re.compile('[",\r\n]')


class Format(StrEnum):
    """What `show` can write."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def visible(text: str) -> str:
    """`text` with what a terminal would obey or hide written out, for example \\x1b."""
    return _UNSAFE.sub(lambda found: _escape(ord(found.group())), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def scalar(value: Any) -> str:
    """A value as text: "" for None, times ISO 8601 with Z, decimals exact and without exponent, lists joined by ;."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    if isinstance(value, dict):
        return ";".join(f"{key}={scalar(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ";".join(scalar(item) for item in value)
    return str(value)


def time_text(moment: datetime) -> str:
    """A naive UTC datetime as ISO 8601 with six digits and Z."""
    return moment.isoformat(timespec="microseconds") + "Z"


def decimal_text(number: Decimal) -> str:
    """All digits that matter, never an exponent: 0.00125, 100."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if number else "0"


def json_text(value: Any) -> str:
    """A value as JSON; money keeps all its digits, what is not a number is null, nothing invisible stays raw."""
    if isinstance(value, datetime):
        return f'"{time_text(value)}"'
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json_text(str(key))}: {json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(json_text(item) for item in value) + "]"
    plain = json.dumps(value, ensure_ascii=False)
    return _HIDDEN_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", plain)


def csv_cell(value: Any) -> str:
    """A CSV cell. Text that a spreadsheet would take for a formula gets an apostrophe before it; numbers stay."""
    text = scalar(value)
    if not isinstance(value, bool | int | float | Decimal) and text.startswith(_FORMULA):
        text = f"'{text}"
    if text == "" and value is not None:
        return '""'
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) or text != text.strip(" ") else text
