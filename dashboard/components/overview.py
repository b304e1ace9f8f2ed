"""The first page: what needs attention, the headline figures, the partners."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from dashboard.charts import style
from dashboard.components import attention, call_tiles, compare, data, hidden, limits, links, panel, tiles, untold
from dashboard.components.attention import Finding
from dashboard.components.buckets import Trend
from dashboard.components.data import Result
from dashboard.components.shapes import Only, Sum
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.escape import brief, name_of
from dashboard.filters import Filters
from dashboard.tables.context import DAY
from dashboard.texts import say, tell, title

MOST_FINDINGS = 6
MOST_MORE = 60
LINKED = 14
"""Characters of the name on a finding's link: a link tells where it leads."""

ICONS = {
    "never": ":material/block:",
    "disable": ":material/toggle_off:",
    "open": ":material/electric_bolt:",
    "throttled": ":material/speed:",
}
WON = Sum(
    (),
    (
        ("won", "sum(count) filter (stage = 'won')::bigint"),
        ("bid", "sum(count) filter (stage = 'bid')::bigint"),
    ),
    "funnel = 'call'",
)
"""Won calls and calls with a bid."""

VERDICT_ORDER = ("never", "disable", "watch", "keep", "too_few")


def needs_attention(view: View) -> None:
    """Findings in plain sentences, each with who acts, what to do and where to look."""
    found = attention.findings(
        data.table(view.snapshot, "flags", view.everywhere).rows,
        data.table(view.snapshot, "breakers", view.everywhere, shape=Only("kind = 'reported'")).rows,
        data.table(view.snapshot, "rate_limits", view.filters).rows,
        view.snapshot.span("all").newest_us,
        data.reason_titles(view.snapshot),
        view.snapshot.settings["flag_days"],
        ((view.end_us or 0) - (view.start_us or 0)) / DAY,
    )
    with st.container(border=True):
        calm, unknown = untold.attention(view)
        nothing_known = view.end_us is None or not (found or calm)
        panel.title(
            "findings",
            say("finding.title_unknown") if nothing_known else say("finding.title", n=len(found)),
            say("finding.about"),
        )
        if view.end_us is None:
            st.markdown(say("finding.no_data"))
            return
        if not found:
            icon = "help" if unknown else "check_circle"
            told = [say("finding.none" if calm else "finding.none_known"), *calm]
            st.markdown(f":material/{icon}: {' '.join(told)}")
        for finding in found[:MOST_FINDINGS]:
            one(view, finding)
        if len(found) > MOST_FINDINGS:
            more(view, found[MOST_FINDINGS:])
        if unknown:
            st.caption(f":material/visibility_off: {say('finding.unknown')} {' '.join(unknown)}")


@st.fragment
def more(view: View, found: Sequence[Finding]) -> None:
    """Further findings, which are made when they are asked for."""
    door = st.expander(say("finding.more", n=len(found)), key="more_findings", on_change="rerun")
    if not door.open:
        return
    with door:
        for finding in found[:MOST_MORE]:
            one(view, finding)
        if len(found) > MOST_MORE:
            st.caption(say("finding.rest", n=len(found) - MOST_MORE))


def one(view: View, finding: Finding) -> None:
    """One finding."""
    said, link = st.columns([7, 2], vertical_alignment="center", gap="small")
    with said, st.container(gap=None):
        st.markdown(f"{ICONS[finding.kind]} {say(f'finding.{finding.text}', **finding.values)}")
        st.caption(say(f"finding.remedy_{finding.remedy or finding.kind}", **finding.values))
    with link:
        st.page_link(
            view.page("partner") if finding.partner else view.page(finding.page),
            label=say("finding.link", name=brief(finding.partner, LINKED)) if finding.partner else say("finding.all"),
            icon=":material/arrow_forward:",
            query_params=links.query(name=finding.partner or None),
        )


def headline(view: View) -> None:
    """The figures of the range, both streams, with their change."""
    tiles.compared(view, view.filters, figures)
    hidden.note(view, view.filters, "exchange", "postback")
    hidden.postbacks(view, view.filters)


def figures(view: View, filters: Filters) -> list[Tile]:
    """The tiles."""
    return [
        *(exchange(view, filters) if data.has_stream(view.snapshot, "exchange") else []),
        limits.limited(view, filters, "limited"),
        *limits.postback_tiles(view, filters),
    ]


def exchange(view: View, filters: Filters) -> list[Tile]:
    """Calls, their success, what retries add, and wins."""
    only, sums = Only("stream = 'exchange'"), Sum((), ("retries", "successes"), "stream = 'exchange'")
    now = data.table(view.snapshot, "figures", filters, shape=only)
    calls, tried = Trend(view, "figures", filters, only), Trend(view, "retries", filters, sums)
    row = now.rows[0] if now.rows else dict.fromkeys(now.columns)
    return [
        call_tiles.calls(row, calls),
        call_tiles.effective(row, calls),
        call_tiles.retry_success(row, data.table(view.snapshot, "retries", filters, shape=sums), tried),
        call_tiles.amplification(row, calls),
        won(view, filters),
    ]


def won(view: View, filters: Filters) -> Tile:
    """Won calls of those with a bid, of the partners whose answers all tell a bid from a no-bid."""
    tellers, silent = untold.tellers(view, filters)
    if silent:
        filters = replace(filters, partners=tuple(tellers))
    rows = data.table(view.snapshot, "funnel", filters, shape=Only("funnel = 'call'")).rows if tellers else []
    count = {row["stage"]: row["count"] for row in rows}
    return tiles.rate(
        "won",
        count.get("won"),
        count.get("bid"),
        metric="funnel.won_of_bids",
        unit=tell("unit.bids"),
        trend=Trend(view, "funnel", filters, WON).line("won", "bid") if tellers else None,
        note=silence(len(silent), count.get("bid") if tellers else None),
    )


def silence(partners: int, bids: int | None) -> str:
    """What stands below won of bids where answers of so many partners do not tell bids: which bids were counted."""
    if not partners:
        return ""
    if bids is None:
        return tell("whatif.not_told")
    return tell("untold.silent", n=partners, bids=style.short(bids))


def partners(view: View) -> None:
    """One row a partner and key; a click opens it."""
    change = changes(view)
    asked: list[Result] = []
    with data.noting(asked):
        rows = partner_rows(view, change)

    def open_partner(index: int) -> None:
        if rows[index]["partner"] is None:
            return
        st.switch_page(view.page("partner"), query_params=links.query(name=rows[index]["partner"]))

    panel.table(
        view,
        "partners",
        asked[0],
        rows,
        metrics=("calls.effective_success", "calls.amplification"),
        on_select=open_partner,
        behind=asked[1:],
    )


def partner_rows(view: View, change: Callable[[data.Row], data.Row]) -> list[data.Row]:
    """The partners and keys, most calls first, with what each table says of them."""
    calls = data.table(view.snapshot, "calls", view.filters)
    tried = by_partner(
        data.table(view.snapshot, "retries", view.filters, shape=Sum(("stream", "partner"), ("retries", "successes")))
    )
    limited = by_partner(
        data.table(view.snapshot, "rate_limits", view.filters, shape=Sum(("stream", "partner"), limits.COUNTS))
    )
    slow = {row["partner"]: row["p95_ms"] for row in data.table(view.snapshot, "latency", view.filters).rows}
    worst = worst_verdicts(data.table(view.snapshot, "flags", view.everywhere).rows)
    return [
        {
            "partner": row["partner"],
            "stream": title("stream", row["stream"]),
            "calls": row["calls"],
            "effective_success": row["effective_success"],
            **change(row),
            "amplification": row["amplification"],
            "retries": row["retries"],
            "retry_success": None if is_hidden(row) else rate_of(tried, row, "successes", "retries"),
            "limited_rate": rate_of(limited, row, "limited", "requests"),
            "p95_ms": slow.get(row["partner"]) if row["stream"] == "exchange" else None,
            "verdict": title("verdict", worst.get((row["stream"], row["partner"])) or no_verdict(row)),
        }
        for row in sorted(calls.rows, key=lambda row: (row["stream"], -row["calls"], name_of(row["partner"])))
    ]


def changes(view: View) -> Callable[[data.Row], data.Row]:
    """Gives a row's columns of change since the earlier period; none where there is nothing to compare with.

    Calls change by a share of the earlier ones, unknown where the data do not cover that period; success changes by
    percentage points.
    """
    past = view.before
    if past is None or compare.is_empty(past):
        return lambda row: {}
    earlier = by_partner(data.table(past.snapshot, "calls", past.filters))
    whole = compare.is_whole(past)

    def change(row: data.Row) -> data.Row:
        was = earlier.get((row["stream"], row["partner"]), {})
        calls, success = was.get("calls"), was.get("effective_success")
        known = success is not None and row["effective_success"] is not None
        return {
            "calls_change": step((row["calls"] - calls) / calls, 3) if calls and whole else None,
            "effective_change": step(100 * (row["effective_success"] - success), 1) if known else None,
        }

    return change


def step(value: float, digits: int) -> float:
    """A difference as far as it is shown: one that reads as none is none, and has no sign."""
    return round(value, digits) + 0.0


def is_hidden(row: data.Row) -> bool:
    """Whether calls of this row of the table `calls` do not show all their attempts: then recovered is unknown."""
    return row["recovered"] is None


def no_verdict(row: data.Row) -> str:
    """What stands where no retry is judged: there was none, or nobody can tell."""
    return "unknown" if is_hidden(row) else "none"


def by_partner(result: Result) -> dict[tuple[str, str | None], data.Row]:
    """Rows by stream and partner."""
    return {(row["stream"], row["partner"]): row for row in result.rows}


def rate_of(found: dict[tuple[str, str | None], data.Row], row: data.Row, part: str, whole: str) -> float | None:
    """A ratio of the partner's row in another table."""
    other = found.get((row["stream"], row["partner"]))
    return None if other is None else style.ratio(other[part], other[whole])


def worst_verdicts(flags: Sequence[data.Row]) -> dict[tuple[str, str], str]:
    """For each stream and partner the worst verdict on one of its triggers."""
    worst: dict[tuple[str, str], str] = {}
    for row in flags:
        if row["trigger"] != "*" and row["partner"] != "*":
            key = (row["stream"], row["partner"])
            worst[key] = min(worst.get(key, VERDICT_ORDER[-1]), row["verdict"], key=VERDICT_ORDER.index)
    return worst
