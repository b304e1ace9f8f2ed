"""What happened in a range: openings of breakers, bursts of 429, marks. One source for every chart over time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from dashboard import marks
from dashboard.charts.breakers import duration
from dashboard.charts.incidents import KINDS, Band
from dashboard.components import data, grid
from dashboard.components.panel import Aside
from dashboard.components.view import View, clock
from dashboard.escape import name_of, plain
from dashboard.filters import Filters, epoch_us, utc
from dashboard.marks import Marks
from dashboard.texts import say, table, tell, title

MOST_BANDS = 24
"""Bands on one chart, those that lasted longest; marks come first."""

GAP_SHARE = 200
"""Bands of a kind are one where less than this part of the range lies between them: no eye would part them."""

MOST_NAMED = 3
MOST_TOLD = 3
"""Of a chart's incidents, those that its alt text tells one by one."""

SIGNS = {"open": "▼", "burst": "■", "mark": "◆"}


@dataclass(frozen=True)
class Incident:
    """One thing that happened to one partner or key; a mark has no length. `limited` of `requests` were refused."""

    kind: str
    start_us: int
    end_us: int
    name: str
    node: str | None = None
    requests: int | None = None
    limited: int | None = None


@dataclass(frozen=True)
class Group:
    """Incidents of a kind that stand together; `names` are the first of `count`, `lasted_us` the sum of their times."""

    kind: str
    start_us: int
    end_us: int
    names: tuple[str, ...]
    count: int
    lasted_us: int


def toggle() -> bool:
    """The switch beside the page."""
    return st.toggle(tell("incidents.label"), True, key="incidents", bind="query-params", help=say("incidents.help"))


def read_marks(warehouse: Path) -> Marks:
    """The marks of a warehouse, read anew when their file changed."""
    path = marks.place(warehouse)
    return _marks(str(path), marks.state(path))


@st.cache_data(ttl=data.KEEP_S, max_entries=8, show_spinner=False)
def _marks(path: str, state: tuple[int, int] | None) -> Marks:
    return Marks() if state is None else marks.read(Path(path))


def find(view: View, filters: Filters) -> list[Incident]:
    """All incidents of a range and its partners, by their begin."""
    found = [*openings(view, filters), *bursts(view, filters), *noted(view, filters)]
    return sorted(found, key=lambda one: (one.start_us, one.kind, one.name))


def openings(view: View, filters: Filters) -> Iterable[Incident]:
    """Breakers that were open; one that still is lasts to the end of the range."""
    for row in data.table(view.snapshot, "breaker_openings", filters).rows:
        end = view.end_us or 0 if row["to"] is None else moment(row["to"])
        yield Incident("open", moment(row["from"]), end, name_of(row["partner"]), row["node"])


def bursts(view: View, filters: Filters) -> Iterable[Incident]:
    """Runs of minutes with many 429s, asked for only of those who were refused that often in the whole range."""
    least = float(view.snapshot.settings["burst_min_requests"]) * float(view.snapshot.settings["burst_share"])
    refused = data.table(view.snapshot, "rate_limits", filters)
    names = {row["partner"] for row in refused.rows if (row["limited"] or 0) >= max(least, 1)}
    if not names:
        return
    asked = filters if None in names else replace(filters, partners=tuple(sorted(names)))
    for row in data.table(view.snapshot, "limit_bursts", asked, bucket="minute").rows:
        name = " · ".join(part for part in (name_of(row["partner"]), row["endpoint"]) if part)
        counts = row["requests"], row["limited"]
        yield Incident("burst", moment(row["from"]), moment(row["to"]), name, None, *counts)


def noted(view: View, filters: Filters) -> Iterable[Incident]:
    """Marks in the range, of everybody or of the asked partners."""
    start, end = view.start_us or 0, view.end_us or 0
    for mark in read_marks(view.snapshot.warehouse).marks:
        asked = mark.partner is None or not filters.partners or mark.partner in filters.partners
        if asked and start <= mark.at_us < end:
            name = mark.label if mark.partner is None else f"{mark.partner}: {mark.label}"
            yield Incident("mark", mark.at_us, mark.at_us, name)


def moment(at: datetime) -> int:
    """Epoch microseconds of a naive UTC time."""
    return epoch_us(at.replace(tzinfo=UTC))


def groups(incidents: Sequence[Incident], gap_us: int) -> list[Group]:
    """Incidents of a kind that overlap, or lie no further apart than the gap, as one; by their begin."""
    found: list[Group] = []
    for kind in KINDS:
        last: Group | None = None
        for one in sorted((one for one in incidents if one.kind == kind), key=lambda one: one.start_us):
            alone = Group(kind, one.start_us, one.end_us, (one.name,), 1, one.end_us - one.start_us)
            if last is not None and one.start_us <= last.end_us + gap_us:
                last = joined(last, alone)
                found[-1] = last
            else:
                last = alone
                found.append(alone)
    return sorted(found, key=lambda group: (group.start_us, group.kind))


def joined(first: Group, more: Group) -> Group:
    """Two groups as one."""
    names = first.names if more.names[0] in first.names else first.names + more.names
    return Group(
        first.kind,
        first.start_us,
        max(first.end_us, more.end_us),
        names,
        first.count + more.count,
        first.lasted_us + more.lasted_us,
    )


def chosen(found: Sequence[Group]) -> list[Group]:
    """As many as a chart can hold: marks first, then what lasted longest; by their begin."""
    ranked = sorted(found, key=lambda group: (group.kind != "mark", -(group.end_us - group.start_us), group.start_us))
    return sorted(ranked[:MOST_BANDS], key=lambda group: group.start_us)


def of_range(view: View, filters: Filters) -> list[Group]:
    """The incidents of a range, put together as its width asks."""
    asked = (str(view.snapshot.warehouse), view.snapshot.id, filters, view.start_us, view.end_us)
    path = marks.place(view.snapshot.warehouse)
    return _groups(repr(asked), str(path), marks.state(path), view, filters)


@st.cache_data(ttl=data.KEEP_S, max_entries=data.MOST_RESULTS, show_spinner=False)
def _groups(asked: str, path: str, state: tuple[int, int] | None, _view: View, _filters: Filters) -> list[Group]:
    gap = ((_view.end_us or 0) - (_view.start_us or 0)) // GAP_SHARE
    return groups(find(_view, _filters), gap)


def band(view: View, group: Group) -> Band:
    """A group as a chart draws it: within the range, and worded."""
    start, end = max(group.start_us, view.start_us or 0), min(group.end_us, view.end_us or 0)
    lines = [table("incidents.kind")[group.kind], named(group)]
    begin = clock(view.local(group.start_us))
    if group.kind == "mark":
        lines.append(begin)
    else:
        lines += [
            tell("incidents.times", n=group.count, lasted=duration(group.lasted_us / 1e6)),
            f"{begin} - {clock(view.local(group.end_us))}",
        ]
    return Band(group.kind, view.local(start), view.local(end), lines)


def note(found: Sequence[Group], shown: Sequence[Group], write: Callable[..., str] = say) -> str:
    """What is drawn, by kind, and how much is not; nothing where nothing happened. `write`: as markdown or plain."""
    if not found:
        return ""
    counts = {kind: sum(group.kind == kind for group in shown) for kind in KINDS}
    parts = [
        write("incidents.drawn", sign=SIGNS[kind], kind=table("incidents.kind")[kind], n=n)
        for kind, n in counts.items()
        if n
    ]
    rest = f" {write('incidents.not_drawn', n=len(found) - len(shown))}" if len(found) > len(shown) else ""
    return f"{write('incidents.note')} {', '.join(parts)}.{rest}"


def aside(view: View, found: Sequence[Group], shown: Sequence[Group]) -> Aside:
    """All groups as the rows of a table, the newest first, and for the ear what is drawn, the longest one by one."""
    longest = sorted(shown, key=lambda group: group.start_us - group.end_us)[:MOST_TOLD]
    told = [note(found, shown, tell), *(", ".join(band(view, group).lines) for group in longest)]
    return Aside(*grid.listed([listed(group) for group in reversed(found)], view.zone, absent=grid.ABSENT), told)


def listed(group: Group) -> data.Row:
    """A group as a row; a mark has no end."""
    lasts = group.kind != "mark"
    return {
        "incident": title("incidents.kind", group.kind),
        "name": named(group),
        "from": utc(group.start_us),
        "to": utc(group.end_us) if lasts else None,
        "lasted": duration(group.lasted_us / 1e6) if lasts else None,
        "times": group.count,
    }


def named(group: Group) -> str:
    """The first names of a group, and how many more there are."""
    more = len(group.names) - MOST_NAMED
    names = ", ".join(plain(name, 40) for name in group.names[:MOST_NAMED])
    return names + (f" {tell('incidents.more', n=more)}" if more > 0 else "")
