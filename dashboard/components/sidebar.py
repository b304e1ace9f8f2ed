"""The filters beside every page. They live in the address, so that a view can be kept, sent and reloaded."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any
from zoneinfo import available_timezones

import streamlit as st

from dashboard import languages
from dashboard.components import choices, compare, data, incidents
from dashboard.components.view import ALL, CUSTOM, DEFAULT_RANGE, PRESETS, View, preset_start
from dashboard.escape import plain
from dashboard.filters import Filters, parse_moment, utc
from dashboard.languages import LANGUAGES
from dashboard.snapshot import Snapshot
from dashboard.texts import in_every_language, say, tell, title

UNKNOWN_WIDTH = 28
"""Characters shown of a name that no partner or key has."""


def choose(snapshot: Snapshot, pages: Mapping[str, Any]) -> View:
    """Draws the filters and returns what they say."""
    span = snapshot.streams.get("all")
    first, newest = (span.first_us, span.newest_us) if span else (None, None)
    with st.sidebar:
        choice = _preset()
        typed = _custom(first, newest) if choice == CUSTOM else (None, None)
        how = compare.choose()
        partners = _partners(snapshot)
        zone = _zone(snapshot)
        incidents.toggle()
        _language()
        everywhere = Filters(partners=partners, zone=zone)
        start, end = _range(choice, typed, zone, newest)
        filters = replace(everywhere, frm_us=start, to_us=end)
        st.caption(say("filter.snapshot", snapshot=snapshot.id))
    if newest is None:
        return View(snapshot, filters, everywhere, None, None, pages)
    begin = first if start is None or first is None else max(start, first)
    view = View(snapshot, filters, everywhere, begin, newest + 1 if end is None else end, pages, how)
    return replace(view, before=compare.earlier(view))


def _preset() -> str:
    ranges = [*PRESETS, ALL, CUSTOM]
    titles = {name: title("range", name) for name in ranges}
    key = choices.recall("range", titles, lambda name: in_every_language(f"range.{name}"))
    chosen = st.selectbox(
        tell("filter.range"),
        ranges,
        ranges.index(DEFAULT_RANGE),
        format_func=lambda name: titles.get(name, name),
        key=key,
        bind="query-params",
        help=say("filter.range_help"),
    )
    return chosen or DEFAULT_RANGE


def _language() -> None:
    names = {code: language.name for code, language in LANGUAGES.items()}
    key = choices.recall(languages.KEY, names, lambda code: {names[code]})
    st.selectbox(
        tell("language.label"),
        list(names),
        list(names).index(languages.usual().code),
        format_func=lambda code: names.get(code, code),
        key=key,
        bind="query-params",
        on_change=choices.hold,
    )


def _range(
    choice: str, typed: tuple[datetime | None, datetime | None], zone: str, newest: int | None
) -> tuple[int | None, int | None]:
    if choice == CUSTOM:
        start, end = (instant(moment, zone) for moment in typed)
        if start is not None and end is not None and start > end:
            st.warning(tell("filter.swapped"), icon=":material/swap_horiz:")
            return end, start
        return start, end
    if choice == ALL or newest is None:
        return None, None
    return preset_start(choice, newest), None


def _custom(first: int | None, newest: int | None) -> tuple[datetime | None, datetime | None]:
    low = utc(first).replace(hour=0, minute=0, second=0, microsecond=0) if first is not None else None
    high = utc(newest) if newest is not None else None
    language = languages.current()
    hint = None
    if low and high:
        first_day, last_minute = f"{low:{language.date}}", f"{high:{language.date} %H:%M}"
        hint = say("filter.custom_help", first=first_day, newest=last_minute)
    low_end, high_end = datetime(2000, 1, 1), datetime(2101, 1, 1)
    start = st.datetime_input(
        tell("filter.from"), None, low_end, high_end, key="from", bind="query-params", help=hint, step=60
    )
    end = st.datetime_input(tell("filter.to"), None, low_end, high_end, key="to", bind="query-params", step=60)
    return start, end


def _partners(snapshot: Snapshot) -> tuple[str, ...]:
    names = data.partner_names(snapshot)
    known = {plain(name) for name in names}
    asked = [name for name in st.query_params.get_all("partner") if name and plain(name) not in known]
    if asked:
        st.session_state["_unknown_partners"] = asked
    chosen = st.multiselect(
        tell("filter.partner"),
        names,
        key="partner",
        bind="query-params",
        format_func=plain,
        placeholder=tell("filter.all_partners"),
        help=say("filter.partner_help"),
        on_change=_forget_unknown,
    )
    unknown = st.session_state.get("_unknown_partners", [])
    if unknown:
        st.caption(say("filter.unknown_partner", names=", ".join(plain(name, UNKNOWN_WIDTH) for name in unknown)))
    return tuple(chosen)


def _forget_unknown() -> None:
    st.session_state.pop("_unknown_partners", None)


@cache
def _zones() -> list[str]:
    return sorted(available_timezones())


def _zone(snapshot: Snapshot) -> str:
    zones = _zones()
    usual = snapshot.settings.get("zone", "UTC")
    index = zones.index(usual) if usual in zones else zones.index("UTC")
    return st.selectbox(tell("filter.zone"), zones, index, key="zone", bind="query-params") or usual


def instant(local: datetime | None, zone: str) -> int | None:
    """A chosen local time in epoch microseconds."""
    return None if local is None else parse_moment(local.isoformat(" ", "seconds"), zone, tell("filter.range"))
