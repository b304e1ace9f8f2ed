"""Everything about one partner or key, down to single attempts and postbacks."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dashboard.charts import latency as latency_chart
from dashboard.components import call_tiles, data, grid, hidden, layout, links, panel, retries, tiles
from dashboard.components.buckets import Trend
from dashboard.components.shapes import Only, Sum
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.escape import plain
from dashboard.filters import Filters
from dashboard.texts import say, tell, title

MISSING = "_missing_partner"
"""Where the session keeps the name that an address asked for and nobody has."""


def choose(view: View) -> str | None:
    """The partner to look at, kept in the address as `name`; at first the one filtered for, else the busiest."""
    names = data.partner_names(view.snapshot)
    if not names:
        st.markdown(say("partner.none"))
        return None
    asked = st.query_params.get("name")
    known = [plain(name) for name in names]
    index = known.index(asked) if asked in known else names.index(usual(view, names))
    picked = st.selectbox(
        tell("partner.choose"), names, index, format_func=plain, key=f"name_{index}", on_change=_forget_missing
    )
    if asked is not None and asked not in known:
        st.session_state[MISSING] = asked
    if picked is not None and plain(picked) != asked:
        st.query_params["name"] = plain(picked)
    missing = st.session_state.get(MISSING)
    if missing is not None:
        st.warning(say("partner.missing", asked=missing, shown=picked), icon=":material/help:")
    return picked


def _forget_missing() -> None:
    st.session_state.pop(MISSING, None)


def usual(view: View, names: Sequence[str]) -> str:
    """The partner shown when none was asked for."""
    if view.filters.partners and view.filters.partners[0] in names:
        return view.filters.partners[0]
    calls = data.table(view.snapshot, "calls", Filters()).rows
    named = [row for row in calls if row["partner"] is not None]
    return str(max(named, key=lambda row: row["calls"])["partner"]) if named else names[0]


def streams(view: View, name: str) -> list[str]:
    """Streams in which this name occurs."""
    every = Filters(partners=(name,))
    return [
        row["stream"]
        for row in data.table(view.snapshot, "rate_limits", every, shape=Sum(("stream",), ("requests",))).rows
    ]


def headline(view: View, filters: Filters, stream: str) -> None:
    """The partner's figures in the range, with their change."""
    tiles.compared(view, filters, lambda own, chosen: figures(own, chosen, stream))
    hidden.note(view, filters, stream)
    if stream == "postback":
        hidden.postbacks(view, filters)


def figures(view: View, filters: Filters, stream: str) -> list[Tile]:
    """The tiles of one stream."""
    only = Only(f"stream = '{stream}'")
    now = data.table(view.snapshot, "figures", filters, shape=only)
    row = now.rows[0] if now.rows else dict.fromkeys(now.columns)
    shown = (
        call_tiles.calls,
        call_tiles.effective,
        call_tiles.actual,
        call_tiles.amplification,
        call_tiles.recovered,
    )
    trend = Trend(view, "figures", filters, only)
    return [tile(row, trend) for tile in shown]


def latency(view: View, filters: Filters) -> None:
    """Answer times."""
    result = data.table(view.snapshot, "latency", filters)
    panel.chart(
        view,
        "latency",
        result,
        lambda: latency_chart.quantiles(result.rows),
        metrics=("latency.p50_ms", "latency.p95_ms"),
        n=result.total("attempts"),
        unit=tell("unit.attempts"),
    )


def load(view: View, filters: Filters, stream: str) -> None:
    """What retries add to the partner's load, and what they earn: as on the page of all partners."""
    own = replace(view, filters=filters)
    left, right = layout.halves()
    with left:
        retries.successes(own, stream)
    with right:
        retries.amplification(own, stream)
    retries.amplification_time(own, stream)


def attempts(view: View, filters: Filters) -> None:
    """The newest attempts, each with a link to its auction; a click on a row puts that link below."""
    result = data.table(view.snapshot, "recent_attempts", filters)
    titles = data.reason_titles(view.snapshot)
    rows = [
        {"open_auction": address} | row | {name: titles.get(row[name], row[name]) for name in ("outcome", "reason")}
        for address, row in zip(
            links.auctions(view, [row["auction_id"] for row in result.rows]), result.rows, strict=True
        )
    ]
    panel.table(
        view,
        "attempts",
        result,
        rows,
        note=say("partner.attempts_note", rows=len(rows)) if rows else "",
        on_select=lambda index: links.to_auction(view, result.rows[index]["auction_id"]),
        absent=grid.ABSENT,
    )


def postbacks(view: View, name: str) -> None:
    """The newest postbacks of a key."""
    filters = replace(view.filters, partners=(), key=name)
    result = data.table(view.snapshot, "recent_postbacks", filters)
    rows = [
        {"open_order": address} | row | {"outcome": title("postback", row["outcome"])}
        for address, row in zip(
            links.orders(view, [row | {"key": name} for row in result.rows]), result.rows, strict=True
        )
    ]
    panel.table(
        view,
        "postbacks",
        result,
        rows,
        note=say("partner.postbacks_note", rows=len(rows)) if rows else "",
        on_select=lambda index: links.to_order(view, result.rows[index] | {"key": name}),
        absent=grid.ABSENT,
    )
