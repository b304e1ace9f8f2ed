"""Which earlier period a range is compared with."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.filters import epoch_us
from dashboard.periods import OFF, PREVIOUS, WEEK, before

HOUR = 3_600_000_000
DAY = 24 * HOUR
FAR = epoch_us(datetime(2101, 1, 1, tzinfo=UTC))
moments = st.integers(0, 4 * 365 * 24 * 60).map(lambda minute: minute * 60_000_000)


def us(text: str, zone: str = "UTC") -> int:
    """Epoch microseconds of a local time."""
    return epoch_us(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)))


@pytest.mark.parametrize(
    ("start", "end", "how", "zone", "expected"),
    [
        ("2026-09-14T10:00", "2026-09-14T11:00", PREVIOUS, "UTC", ("2026-09-14T09:00", "2026-09-14T10:00")),
        ("2026-09-14T10:00", "2026-09-14T11:00", WEEK, "UTC", ("2026-09-07T10:00", "2026-09-07T11:00")),
        # the clocks of Kyiv went back on 25 October: the same local hour is 169 hours earlier
        ("2026-10-27T10:00", "2026-10-27T11:00", WEEK, "Europe/Kyiv", ("2026-10-20T10:00", "2026-10-20T11:00")),
        ("2026-10-27T10:00", "2026-10-27T11:00", WEEK, "UTC", ("2026-10-20T10:00", "2026-10-20T11:00")),
    ],
)
def test_the_period_before(start: str, end: str, how: str, zone: str, expected: tuple[str, str]) -> None:
    found = before(us(start, zone), us(end, zone), FAR, how, zone)
    assert found == (us(expected[0], zone), us(expected[1], zone))


def test_a_range_that_is_not_over_is_compared_with_as_much_of_the_earlier_one() -> None:
    day, noon = us("2026-09-14T00:00"), us("2026-09-14T12:00")
    assert before(day, day + DAY, noon, PREVIOUS, "UTC") == (day - DAY, noon - DAY)
    assert before(day, day + DAY, noon, WEEK, "UTC") == (day - 7 * DAY, noon - 7 * DAY)


def test_nothing_is_before_when_nothing_is_asked_or_nothing_has_been() -> None:
    assert before(0, HOUR, FAR, OFF, "UTC") is None
    assert before(HOUR, 2 * HOUR, HOUR, PREVIOUS, "UTC") is None
    assert before(HOUR, HOUR, FAR, PREVIOUS, "UTC") is None


@given(moments, moments, moments, st.sampled_from([PREVIOUS, WEEK]), st.sampled_from(["UTC", "Europe/Kyiv"]))
def test_the_earlier_period_is_as_long_and_lies_before(start: int, end: int, newest: int, how: str, zone: str) -> None:
    found = before(start, end, newest, how, zone)
    if min(end, newest) <= start:
        assert found is None
        return
    assert found is not None
    assert found[1] - found[0] == min(end, newest) - start
    assert found[0] < start
    if how == PREVIOUS:
        assert found[1] <= start
