"""Filters of a result table, and how people write them: instants, dates in a zone, names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dashboard.errors import UserError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?", re.IGNORECASE)


@dataclass(frozen=True)
class Filters:
    """Which rows a table takes. Hashable, so that it can key a cache.

    [frm_us, to_us) in epoch microseconds (None: open on that side); `partners` empty means all; `limit` None means the
    table's own. `auction`, `key` and `order` are for the tables of single attempts and postbacks.
    """

    frm_us: int | None = None
    to_us: int | None = None
    partners: tuple[str, ...] = ()
    zone: str = "UTC"
    limit: int | None = None
    auction: str | None = None
    key: str | None = None
    order: str | None = None


def make_filters(
    *,
    frm: str | None = None,
    to: str | None = None,
    partners: Sequence[str] = (),
    zone: str = "UTC",
    limit: int | None = None,
    auction: str | None = None,
    key: str | None = None,
    order: str | None = None,
) -> Filters:
    """Filters from what was typed. Raises UserError naming the option, its value and what it takes."""
    check_zone(zone)
    frm_us = parse_moment(frm, zone, "--from")
    to_us = parse_moment(to, zone, "--to")
    if frm_us is not None and to_us is not None and frm_us > to_us:
        raise UserError(f"--from {frm!r} is after --to {to!r}; swap them")
    for option, values in (("--partner", partners), ("--auction", [auction]), ("--key", [key]), ("--order", [order])):
        for value in values:
            _check_text(value or "", option)
    if limit is not None and limit < 1:
        raise UserError(f"--limit {limit}: it takes a whole number from 1 up")
    return Filters(frm_us, to_us, tuple(dict.fromkeys(partners)), zone, limit, auction, key, order)


def _check_text(value: str, option: str) -> None:
    """Raise UserError for what no log can hold: bytes that are not UTF-8, and NUL."""
    if "\x00" in value or (not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)):
        raise UserError(f"{option} {value!a} is not UTF-8 text; write it as it stands in the tables")


def check_zone(zone: str) -> ZoneInfo:
    """The zone of an IANA name. Raises UserError for any other text."""
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UserError(f"--zone {zone!r} is no time zone; write it as Area/City, for example Europe/Kyiv") from None


def parse_moment(text: str | None, zone: str, option: str) -> int | None:
    """Epoch microseconds of an ISO 8601 instant, or of a date or local time in `zone`.

    A local time that the clock shows twice is the first one; one that it skips is moved on by the gap. Digits after
    the microsecond are cut.
    """
    if text is None:
        return None
    try:
        return epoch_us(_parse(text.strip(), ZoneInfo(zone)))
    except (ValueError, OverflowError):
        raise UserError(
            f"{option} {text!r} is no time; write a date (2026-09-14) or ISO 8601 (2026-09-14T11:00:00Z)"
        ) from None


def _parse(text: str, zone: ZoneInfo) -> datetime:
    if _DATE.fullmatch(text):
        return start_of_day(date.fromisoformat(text), zone)
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    day, clock, fraction, offset = parts.groups()
    local = datetime.fromisoformat(f"{day}T{clock}") + timedelta(microseconds=int(f"{fraction or 0:0<6}"[:6]))
    if offset is None:
        return local.replace(tzinfo=zone)
    if offset in "Zz":
        return local.replace(tzinfo=UTC)
    return datetime.fromisoformat(f"{local.isoformat()}{offset if len(offset) > 3 else offset + ':00'}")


def start_of_day(day: date, zone: ZoneInfo) -> datetime:
    """First instant of a local day: midnight, or the end of the gap where the clock skips it."""
    return datetime.combine(day, time(), tzinfo=zone)


def epoch_us(moment: datetime) -> int:
    """Epoch microseconds of an aware datetime, exactly."""
    return (moment.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)


def utc(moment_us: int) -> datetime:
    """The naive UTC datetime of epoch microseconds."""
    return datetime(1970, 1, 1) + timedelta(microseconds=moment_us)
