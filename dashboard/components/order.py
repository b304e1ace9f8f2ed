"""One order: its postbacks over time, each wait against the Retry-After before it, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from dashboard.charts import postbacks as charts
from dashboard.charts import style
from dashboard.charts.breakers import duration
from dashboard.charts.postbacks import Post
from dashboard.components import data, door, grid, links, moments, panel
from dashboard.components.data import Result, Row
from dashboard.components.limits import OUTCOMES
from dashboard.components.shapes import Only
from dashboard.components.view import View
from dashboard.escape import markdown, plain
from dashboard.filters import Filters
from dashboard.tables.context import equals
from dashboard.texts import say, table, tell, title

MOST_TOLD = 8
"""Waits told one by one in words; the table has all."""

MARKS = {"accepted": "circle", "duplicate": "circle-open", "rate_limited": "x", "answered_unknown": "diamond-open"}
"""Outcome -> symbol; a square for every other refusal."""

GRACE_S = 1.0
"""A request may come so much before its time, and after a short one."""

IDENTITY = ("tenant", "event_type", "external_order_id")
FIRST = (
    "number",
    "ts",
    "since_s",
    "outcome",
    "http_status",
    "error_code",
    "pause_s",
    "told_s",
    "retry_after_s",
    "waited_s",
    "followed",
)


@dataclass(frozen=True)
class Order:
    """One order: its verdict, its postbacks oldest first, and to each the wait that its 429 asked for, if it did."""

    id: str
    verdict: Row
    result: Result
    rows: Sequence[Row]
    waits: Sequence[Row | None]


def choose() -> str | None:
    """The order to look at, kept in the address."""
    typed = st.text_input(
        tell("order_page.id"), key="order", bind="query-params", placeholder=tell("order_page.id_hint")
    )
    return typed or None


def find(view: View, wanted: str) -> Order | None:
    """An order with its postbacks; None where there is none of that id."""
    orders = data.table(view.snapshot, "order_verdict", Filters(), shape=Only(equals("external_order_id", wanted)))
    if not orders.rows:
        return None
    verdict = which(orders.rows)
    same = same_order(verdict)
    result = data.table(
        view.snapshot, "order_postbacks", Filters(order=wanted, zone=view.filters.zone), shape=Only(same)
    )
    waits = data.table(
        view.snapshot, "order_waits", Filters(), shape=Only(f"{equals('external_order_id', wanted)} and {same}")
    )
    return Order(wanted, verdict, result, result.rows, matched(result.rows, waits.rows))


def which(orders: Sequence[Row]) -> Row:
    """The order that the address names; where several have the id, the one chosen: at first the newest."""
    place = len(orders) - 1
    if place:
        asked = (st.query_params.get("tenant"), st.query_params.get("event_type"))
        named = [index for index, row in enumerate(orders) if (row["tenant"], row["event_type"]) == asked]
        st.markdown(say("order_page.several", orders=len(orders)))
        picked = st.selectbox(
            tell("order_page.which"),
            range(len(orders)),
            named[0] if named else place,
            format_func=lambda index: " · ".join(plain(orders[index][name]) for name in ("tenant", "event_type")),
        )
        place = place if picked is None else picked
    for name in ("tenant", "event_type"):
        value = orders[place][name]
        if value is None:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != value:
            st.query_params[name] = value
    return orders[place]


def matched(rows: Sequence[Row], waits: Sequence[Row]) -> list[Row | None]:
    """To each postback the wait that its answer asked for: by time, key and endpoint."""
    left = list(waits)
    found: list[Row | None] = []
    for row in rows:
        own = [
            wait
            for wait in left
            if row["outcome"] == "rate_limited"
            and (wait["ts"], wait["key"], wait["endpoint"], wait["retry_after_s"])
            == (row["ts"], row["key_id"], row["endpoint"], row["retry_after_s"])
        ]
        if own:
            left.remove(own[0])
        found.append(own[0] if own else None)
    return found


def headline(view: View, order: Order) -> None:
    """Whose order it is, what became of it, and what is wrong with it."""
    verdict = order.verdict
    parts = [
        say("order_page.of", tenant=verdict["tenant"]),
        say("order_page.event", event=verdict["event_type"]),
        say("order_page.first", moment=moments.told(view, verdict["first_request"]), zone=view.filters.zone),
        say("order_page.requests", requests=verdict["requests"]),
        f"**{markdown(title('order', verdict['state'] or 'unknown'))}**{accepted(verdict)}",
    ]
    st.markdown(" · ".join(parts))
    st.caption(say("order_page.no_compare"))
    same = f"{equals('external_order_id', order.id)} and {same_order(verdict)}"
    for fault in data.table(view.snapshot, "order_fault_list", Filters(), shape=Only(same)).rows:
        named = title("fault", fault["fault"])
        st.markdown(f":material/error: {say('order_page.fault', fault=named, detail=fault['detail'])}")
    if verdict["key"] is not None:
        links.to_partner(view, verdict["key"])


def accepted(verdict: Row) -> str:
    """How many retries and how long it took, where that is known."""
    if verdict["retries_to_accept"] is None:
        return ""
    took = duration(verdict["seconds_to_accept"])
    return f" {say('order_page.accepted', retries=verdict['retries_to_accept'], took=took)}"


def timeline(view: View, order: Order) -> None:
    """The postbacks over time with the waits that they were told, these in words, and all of it as a table."""
    pairs = list(zip(order.rows, order.waits, strict=True))
    posts = [post(place, row, wait, order.rows[0]) for place, (row, wait) in enumerate(pairs[: style.MOST_ROWS])]
    with st.container(border=True):
        metrics = ("orders.pause", "retry_after.early", "retry_after.delay")
        panel.head(view, "order_timeline", order.result, metrics, len(order.rows), tell("unit.postbacks"), picture=True)
        if not order.rows:
            panel.nothing("panel.order_timeline.empty")
            return
        st.caption(say("order_page.legend"))
        st.plotly_chart(
            charts.timeline(posts, table("order_chart")),
            key="chart_order",
            config=panel.config("order_timeline"),
            alt=alt(posts, len(order.rows)),
        )
        notes(pairs)
        grid.show(
            [told(place, row, wait, order.rows[0]) for place, (row, wait) in enumerate(pairs)],
            view.zone,
            key=f"grid_order_timeline_{panel.digest(order.result.sql)}",
            columns=[*FIRST, *(name for name in order.result.columns if name not in (*FIRST, *IDENTITY))],
            alt=tell("panel.order_timeline.alt"),
            absent=grid.ABSENT,
        )


def post(place: int, row: Row, wait: Row | None, first: Row) -> Post:
    """A postback as the chart takes it."""
    kind = "duplicate" if row["outcome"] == "accepted" and row["duplicate"] else row["outcome"]
    at = (row["ts"] - first["ts"]).total_seconds()
    answered = at + float(row["latency_ms"] or 0) / 1000
    seconds = wait["retry_after_s"] if wait is not None else None
    following = wait["next_request"] if wait is not None else None
    return Post(
        label=str(place + 1),
        title=title("postback", row["outcome"]),
        colour=OUTCOMES.get(kind, OUTCOMES["unexpected_status"])[0],
        mark=MARKS.get(kind, "square"),
        at_s=at,
        answered_s=answered,
        early_s=None if seconds is None else answered + max(seconds - GRACE_S, 0.0),
        timely_s=None if seconds is None else answered + max(2 * seconds, seconds + GRACE_S),
        next_s=None if following is None else (following - first["ts"]).total_seconds(),
    )


def alt(posts: Sequence[Post], rows: int) -> str:
    """The chart in words."""
    told = [f"{post.label} {post.title} {charts.span(post.at_s)}" for post in posts]
    return f"{tell('order_page.alt', n=rows)} {'; '.join(told)}"


def notes(pairs: Sequence[tuple[Row, Row | None]]) -> None:
    """Every wait that was asked for, and how it was kept, in words."""
    lines = []
    if len(pairs) > style.MOST_ROWS:
        lines.append(say("order_page.cut", shown=style.MOST_ROWS, rows=len(pairs)))
    if not any(row["outcome"] in ("rate_limited", "answered_unknown") for row, _ in pairs):
        lines.append(say("order_page.no_429"))
    waits = [(place, wait_words(pairs, place)) for place, (_, wait) in enumerate(pairs) if wait is not None]
    lines += [say("order_page.wait", number=place + 1).format(wait=words) for place, words in waits[:MOST_TOLD]]
    if len(waits) > MOST_TOLD:
        lines.append(say("order_page.more_waits", waits=len(waits) - MOST_TOLD))
    if any(row["outcome"] == "answered_unknown" for row, _ in pairs):
        lines.append(say("order_page.unknown_answer"))
    if any(row["latency_ms"] is None for row, wait in pairs if wait is not None):
        lines.append(say("order_page.no_latency"))
    st.caption("\n".join(f"- {line}" for line in lines))


def wait_words(pairs: Sequence[tuple[Row, Row | None]], place: int) -> str:
    """Asked to wait 30 s, came after 2.1 s: early. Made inert; whose request came is told."""
    row, wait = pairs[place]
    if wait is None:
        return ""
    if wait["retry_after_s"] is None:
        return say("order_page.not_told")
    asked = duration(wait["retry_after_s"])
    if wait["next_request"] is None:
        return say(f"order_page.{'never' if wait['verdict'] == 'never' else 'pending'}", asked=asked)
    own = any(
        other["ts"] == wait["next_request"] and (other["key_id"], other["endpoint"]) == (row["key_id"], row["endpoint"])
        for other, _ in pairs
    )
    return say(
        "order_page.came" if own else "order_page.another_came",
        asked=asked,
        waited=duration(max(wait["waited_s"], 0.0)),
        verdict=title("wait", wait["verdict"]),
    )


def told(place: int, row: Row, wait: Row | None, first: Row) -> Row:
    """A postback as it reads best."""
    return row | {
        "number": place + 1,
        "since_s": (row["ts"] - first["ts"]).total_seconds(),
        "outcome": title("postback", row["outcome"]),
        "waited_s": None if wait is None else wait["waited_s"],
        "followed": None if wait is None or wait["verdict"] is None else title("wait", wait["verdict"]),
    }


def raw(view: View, order: Order) -> None:
    """The canonical columns as the log told them: rows of the table `postbacks`."""
    with st.expander(tell("order_page.raw"), icon=":material/data_object:"):
        same = f"{equals('coalesce(tenant, key_id)', order.verdict['tenant'])} and " + equals(
            "event_type", order.verdict["event_type"]
        )
        result = data.table(
            view.snapshot, "postbacks", Filters(order=order.id, zone=view.filters.zone), shape=Only(same)
        )
        grid.show(result.rows, view.zone, key=f"raw_{panel.digest(result.sql)}", absent=grid.ABSENT)
        door.files(view, result)
        links.command(say("order_page.raw_command"), "postbacks", "--order", order.id)


def same_order(verdict: Row) -> str:
    """SQL condition on rows of one tenant and event type."""
    return f"{equals('tenant', verdict['tenant'])} and {equals('event_type', verdict['event_type'])}"


def unknown(wanted: str) -> None:
    """Says that the data hold nothing of an id."""
    st.markdown(f":material/search_off: {say('order_page.unknown')} **{markdown(wanted)}**.")
    st.caption(say("auction.unknown_hint"))
