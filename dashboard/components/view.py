"""What a page looks at: the snapshot, the filters chosen beside it, and the page's own clock."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import streamlit as st

from dashboard import languages
from dashboard.filters import Filters, utc
from dashboard.languages import Language
from dashboard.periods import OFF
from dashboard.snapshot import Snapshot
from dashboard.texts import tell

MINUTE_US = 60_000_000
PRESETS = {"1h": 3_600, "24h": 86_400, "7d": 604_800}
"""Ranges that end with the newest data, in seconds."""

DEFAULT_RANGE = "24h"
ALL, CUSTOM = "All", "Custom"


@dataclass(frozen=True)
class View:
    """One rerun's choices. `start_us` and `end_us` bound the data looked at; both None where there is no data.

    `before` is the same in the earlier period that figures are compared with, None where there is none; `compare` how
    that period was asked for.
    """

    snapshot: Snapshot
    filters: Filters
    everywhere: Filters
    start_us: int | None
    end_us: int | None
    pages: Mapping[str, Any]
    compare: str = OFF
    before: "View | None" = None

    @cached_property
    def looked_at(self) -> tuple[object, ...]:
        """All that tells this view from others, but for the session's language."""
        before = None if self.before is None else self.before.looked_at
        whole = str(self.snapshot.warehouse), self.snapshot.id
        return *whole, self.filters, self.everywhere, self.start_us, self.end_us, self.compare, before

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which times are written."""
        return ZoneInfo(self.filters.zone)

    def local(self, moment_us: int) -> datetime:
        """Epoch microseconds as a naive local time: charts and tables know no zones."""
        return utc(moment_us).replace(tzinfo=UTC).astimezone(self.zone).replace(tzinfo=None)

    def within(self, filters: Filters) -> Filters:
        """These filters in the range of this view."""
        return replace(filters, frm_us=self.filters.frm_us, to_us=self.filters.to_us)

    def page(self, name: str) -> Any:
        """The page of that name, for links."""
        return self.pages[name]


def preset_start(choice: str, newest_us: int) -> int:
    """Begin of a preset range: whole minutes, up to and with the minute of the newest event."""
    return (newest_us // MINUTE_US + 1) * MINUTE_US - PRESETS[choice] * 1_000_000


def remember(view: View) -> None:
    """Keeps the view for the page that runs next."""
    st.session_state["_view"] = view


def current() -> View:
    """The view of this rerun."""
    view: View = st.session_state["_view"]
    return view


def clock(moment: datetime, language: Language | None = None) -> str:
    """A local time as pages write it, in the session's language or in another."""
    return f"{moment:{(language or languages.current()).date} %H:%M:%S}"


AGES = ((86_400, "days"), (3_600, "h"), (60, "min"))
"""Units in which an age is told, in seconds."""


def age(seconds: float) -> str:
    """How long ago, in words."""
    if seconds < 0:
        return tell("shape.ahead")
    size, unit = next((pair for pair in AGES if seconds >= pair[0]), (1, "s"))
    value = languages.current().number(f"{seconds / size:.{1 if size > 60 else 0}f}")
    return tell("shape.ago", span=tell(f"shape.{unit}", value=value))


def now_us() -> int:
    """This machine's clock in epoch microseconds."""
    return (datetime.now(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
