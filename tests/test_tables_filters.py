"""Filters as people type them: instants, dates in a zone, and what is said of anything else."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.errors import UserError
from dashboard.filters import epoch_us, make_filters, parse_moment
from dashboard.tables.context import equals, texts


@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        ("2026-09-14", "UTC", "2026-09-14T00:00:00Z"),
        ("2026-10-25", "Europe/Kyiv", "2026-10-24T21:00:00Z"),
        ("2026-10-26", "Europe/Kyiv", "2026-10-25T22:00:00Z"),
        ("2026-03-29", "Europe/Kyiv", "2026-03-28T22:00:00Z"),
        ("2026-09-14T11:00", "Europe/Kyiv", "2026-09-14T08:00:00Z"),
        ("2026-10-25 03:30", "Europe/Kyiv", "2026-10-25T00:30:00Z"),
        ("2026-09-14t11:00:00.1234567z", "UTC", "2026-09-14T11:00:00.123456Z"),
        ("2026-09-14 11:00:00+03", "UTC", "2026-09-14T08:00:00Z"),
        ("2026-09-14T11:00:00-0530", "Asia/Tokyo", "2026-09-14T16:30:00Z"),
    ],
)
def test_moments_are_read_exactly(text: str, zone: str, instant: str) -> None:
    assert parse_moment(text, zone, "--from") == epoch_us(datetime.fromisoformat(instant))


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-02-30", "2026-09-14T25:00", "14.09.2026", "0001-01-01T00:00+14"]
)
def test_what_is_no_moment_is_named(text: str) -> None:
    with pytest.raises(UserError, match=r"--from .* is no time; write a date"):
        parse_moment(text, "UTC", "--from")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zone": "Mars/Base"}, "is no time zone; write it as Area/City"),
        ({"frm": "2026-09-15", "to": "2026-09-14"}, "is after --to"),
        ({"limit": 0}, "--limit 0: it takes a whole number from 1 up"),
        ({"partners": ["a\udcff"]}, "is not UTF-8 text"),
    ],
)
def test_filters_that_make_no_sense_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_filters(**options)


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\x00\x1b\\'\n")))
def test_any_name_is_one_line_of_sql_and_comes_back_as_it_was(name: str) -> None:
    assert "\n" not in texts((name,))
    assert duckdb.execute(f"select {texts((name,))}, {equals(texts((name,)), name)}").fetchall() == [(name, True)]
