"""Instants as logs write them, to microseconds since 1970 UTC: cut, never rounded."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(instant: datetime) -> int:
    """Microseconds since 1970 UTC of an aware `instant`."""
    return (instant - EPOCH) // timedelta(microseconds=1)


#: Instants from `FIRST_US` up to but not with `END_US` are times; all else is a placeholder or a mistake.
FIRST_US = to_us(datetime(2000, 1, 1, tzinfo=UTC))
END_US = to_us(datetime(2101, 1, 1, tzinfo=UTC))

_STAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"([Zz]|([+-])([0-9]{2}):?([0-9]{2})?)?(?<!:)"
)
_EPOCH = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def parse_time(text: str, zone: ZoneInfo | None) -> int:
    """Microseconds of an RFC 3339 stamp or an epoch number; ValueError says what is wrong with it.

    A stamp without an offset is placed in `zone`; a local time that happens twice is its first occurrence, one
    that a clock change skips is counted on from the change.
    """
    match = _STAMP.fullmatch(text)
    if match is not None:
        instant = _from_stamp(match, zone)
    elif _EPOCH.fullmatch(text):
        instant = _from_epoch(text)
    else:
        raise ValueError("is no RFC 3339 time and no epoch number")
    if not FIRST_US <= instant < END_US:
        raise ValueError("is outside the years 2000 to 2100")
    return instant


def _from_stamp(match: re.Match[str], zone: ZoneInfo | None) -> int:
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if second == 60:
        raise ValueError("is a leap second, which cannot be placed")
    micros = int(((match[7] or "") + "000000")[:6])
    try:
        local = datetime(year, month, day, hour, minute, second, micros)
    except ValueError:
        raise ValueError("is an impossible date or time of day") from None
    if match[8] is None:
        if zone is None:
            raise ValueError("has no offset: give the zone of the log with --zone")
        try:
            return to_us(local.replace(tzinfo=zone))
        except OverflowError:
            raise ValueError("is outside the years 2000 to 2100") from None
    hours, minutes = int(match[10] or 0), int(match[11] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("has an impossible offset")
    offset = (hours * 60 + minutes) * 60_000_000
    return to_us(local.replace(tzinfo=UTC)) + (offset if match[9] == "-" else -offset)


def _from_epoch(text: str) -> int:
    """Seconds below 1e11, ms below 1e14, us below 1e17, else ns."""
    number = Decimal(text)
    if number >= END_US * 1000:
        raise ValueError("is outside the years 2000 to 2100")
    places = 6 if number < 10**11 else 3 if number < 10**14 else 0 if number < 10**17 else -3
    exactly = Context(prec=len(text) + 20, Emin=MIN_EMIN, Emax=MAX_EMAX)
    return int(number.scaleb(places, exactly))
