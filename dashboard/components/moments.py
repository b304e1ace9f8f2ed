"""Moments as the pages of single events write them: to the millisecond, in the chosen zone."""

from datetime import UTC, datetime

from dashboard.components.view import View, clock


def told(view: View, moment: datetime) -> str:
    """A naive UTC time in the view's zone."""
    local = moment.replace(tzinfo=UTC).astimezone(view.zone)
    return f"{clock(local)}.{local.microsecond // 1000:03d}"
