"""Which earlier period a range is compared with. Periods are [start, end) in epoch microseconds."""

from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

from dashboard.filters import epoch_us, utc

Period = tuple[int, int]

OFF, PREVIOUS, WEEK = "off", "previous", "week"
CHOICES = (PREVIOUS, WEEK, OFF)


def before(start_us: int, end_us: int, newest_us: int, how: str, zone: str) -> Period | None:
    """The earlier period of a range; None where there is nothing to compare, as the range holds no time that has been.

    PREVIOUS is as long and ends where the range begins; WEEK begins at the same local time seven days earlier, which
    the clock may have put an hour nearer or further. Of a range that reaches beyond `newest_us`, the end of the data,
    only the time up to there is compared, with as much of the earlier period.
    """
    reached = min(end_us, newest_us)
    if how == OFF or reached <= start_us:
        return None
    begin = start_us - (end_us - start_us) if how == PREVIOUS else _week_earlier(start_us, zone)
    return begin, begin + reached - start_us


def _week_earlier(moment_us: int, zone: str) -> int:
    local = utc(moment_us).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    return epoch_us(local - timedelta(days=7))
