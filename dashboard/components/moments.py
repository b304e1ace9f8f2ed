"""Moments as the pages of single events write them: to the millisecond, in the chosen zone."""

from datetime import UTC, datetime

from dashboard.components.view import View, clock
from dashboard.languages import Language


def told(view: View, moment: datetime, language: Language | None = None) -> str:
    """A naive UTC time in the view's zone, as the session's language writes it or as another does."""
    local = moment.replace(tzinfo=UTC).astimezone(view.zone)
    return f"{clock(local, language)}.{local.microsecond // 1000:03d}"
