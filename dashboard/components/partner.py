"""Everything about one partner or key, down to single attempts and postbacks."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dashboard.charts import auction as auction_chart
from dashboard.charts import latency as latency_chart
from dashboard.components import buckets, call_tiles, data, grid, layout, panel, retries, tiles
from dashboard.components.data import Only
from dashboard.components.view import View
from dashboard.escape import plain
from dashboard.filters import Filters
from dashboard.texts import say, tell, title


def choose(view: View) -> str | None:
    """The partner to look at, kept in the address as `name`; at first the one filtered for, else the busiest."""
    names = data.partner_names(view.snapshot)
    if not names:
        st.markdown(say("partner.none"))
        return None
    asked = st.query_params.get("name")
    known = [plain(name) for name in names]
    index = known.index(asked) if asked in known else names.index(usual(view, names))
    picked = st.selectbox(tell("partner.choose"), names, index, format_func=plain, key=f"name_{index}")
    if picked is not None and plain(picked) != asked:
        st.query_params["name"] = plain(picked)
    return picked


def usual(view: View, names: Sequence[str]) -> str:
    """The partner shown when none was asked for."""
    if view.filters.partners and view.filters.partners[0] in names:
        return view.filters.partners[0]
    calls = data.table(view.snapshot, "calls", Filters()).rows
    return str(max(calls, key=lambda row: row["attempts_sent"] or 0)["partner"]) if calls else names[0]


def streams(view: View, name: str) -> list[str]:
    """Streams in which this name occurs."""
    every = Filters(partners=(name,))
    return [
        row["stream"]
        for row in data.table(view.snapshot, "rate_limits", every, shape=data.Sum(("stream",), ("requests",))).rows
    ]


def headline(view: View, filters: Filters, stream: str) -> None:
    """The partner's figures in the range."""
    calls = buckets.series(view, "figures", filters=filters, shape=Only(f"stream = '{stream}'"))
    now = data.table(view.snapshot, "figures", filters, shape=Only(f"stream = '{stream}'"))
    row = now.rows[0] if now.rows else dict.fromkeys(now.columns)
    shown = (
        call_tiles.calls,
        call_tiles.effective,
        call_tiles.actual,
        call_tiles.amplification,
        call_tiles.recovered,
    )
    tiles.show([tile(row, calls) for tile in shown], data.metric_texts(view.snapshot))


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
    """The newest attempts; a click on one opens its auction below."""
    result = data.table(view.snapshot, "recent_attempts", filters)
    titles = data.reason_titles(view.snapshot)
    rows = [row | {name: titles.get(row[name], row[name]) for name in ("outcome", "reason")} for row in result.rows]

    def pick(index: int) -> None:
        chosen = rows[index]["auction_id"]
        if st.session_state.get("_picked") != chosen:
            st.session_state["_picked"] = chosen
            st.session_state["auction"] = chosen

    panel.table(
        view,
        "attempts",
        result,
        rows,
        note=say("partner.attempts_note", rows=len(rows)) if rows else "",
        on_select=pick,
        absent=grid.ABSENT,
    )


def auction(view: View) -> None:
    """All attempts of one auction, to whatever partner, on its time budget."""
    wanted = st.text_input(
        tell("partner.auction"), key="auction", bind="query-params", placeholder=tell("partner.auction_hint")
    )
    if not wanted:
        return
    filters = replace(Filters(), auction=wanted, zone=view.filters.zone)
    result = data.table(view.snapshot, "attempts", filters)
    reserve = float(view.snapshot.settings.get("reserve_ms", 0))
    panel.chart(
        view,
        "auction",
        result,
        lambda: auction_chart.waterfall(result.rows, data.reason_titles(view.snapshot), reserve),
        n=len(result.rows),
        unit=tell("unit.attempts"),
    )
    if result.rows:
        grid.show(result.rows, view.zone, key=f"auction_{panel.digest(view.snapshot.id + wanted)}", absent=grid.ABSENT)


def postbacks(view: View, name: str) -> None:
    """The newest postbacks of a key."""
    filters = replace(view.filters, partners=(), key=name)
    result = data.table(view.snapshot, "recent_postbacks", filters)
    rows = [row | {"outcome": title("postback", row["outcome"])} for row in result.rows]
    panel.table(
        view,
        "postbacks",
        result,
        rows,
        note=say("partner.postbacks_note", rows=len(rows)) if rows else "",
        absent=grid.ABSENT,
    )
