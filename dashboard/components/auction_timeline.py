"""The attempts of one auction: drawn on its time budget, told as a table, and what the log does not show in words."""

from collections.abc import Sequence

import streamlit as st

from dashboard.charts import style, waterfall
from dashboard.charts.waterfall import Bar
from dashboard.components import auction_verdicts, data, grid, panel
from dashboard.components.attempt_times import Times
from dashboard.components.auction import Auction
from dashboard.components.data import Row
from dashboard.components.view import View
from dashboard.escape import plain
from dashboard.texts import say, table, tell, title

MOST_TOLD = 6
"""Calls of which the words under the chart tell something of their own."""

COLUMNS = (
    "partner",
    "what",
    "start_ms",
    "latency_ms",
    "outcome",
    "reason",
    "http_status",
    "error_type",
    "trigger",
    "pause_ms",
    "left_ms",
    "timeout_ms",
    "tmax_ms",
    "budget_ms",
    "late",
    "breaker",
    "breaker_state",
    "retry_after_s",
    "waited_s",
    "followed",
    "broken",
    "price",
    "currency",
    "reject_reason",
    "region",
    "node",
    "ts",
)


def show(view: View, auction: Auction) -> None:
    """The waterfall, what it does not show in words, and its numbers as a table."""
    titles = data.reason_titles(view.snapshot)
    shown = auction.rows[: style.MOST_ROWS]
    bars = [bar(row, times, titles) for row, times in zip(shown, auction.times, strict=False)]
    reserve = float(view.snapshot.settings["reserve_ms"])
    metrics = ("auction.start", "auction.pause", "budget.left")
    with st.container(border=True):
        panel.head(
            view, "auction_attempts", auction.result, metrics, len(auction.rows), tell("unit.attempts"), picture=True
        )
        if not auction.rows:
            panel.nothing("panel.auction_attempts.empty")
            return
        st.caption(say("auction.legend"))
        st.plotly_chart(
            waterfall.waterfall(bars, reserve, table("waterfall")),
            key="chart_auction",
            config=panel.config("auction_attempts"),
            alt=alt(bars, reserve, len(auction.rows)),
        )
        for note in notes(auction):
            st.caption(note)
        grid.show(
            [attempt(row, times, titles) for row, times in zip(auction.rows, auction.times, strict=True)],
            view.zone,
            key=f"grid_auction_attempts_{panel.digest(auction.result.sql)}",
            columns=[*COLUMNS, "start_from"] if any(times.by_clock for times in auction.times) else COLUMNS,
            alt=tell("panel.auction_attempts.alt"),
            absent=grid.ABSENT,
        )


def bar(row: Row, times: Times, titles: dict[str, str]) -> Bar:
    """An attempt as the chart takes it."""
    allowed = row["timeout_ms"] if row["timeout_ms"] is not None else row["tmax_ms"]
    return Bar(
        group=row["partner"],
        label=what(row),
        outcome=row["outcome"],
        title=titles.get(row["outcome"]) or row["outcome"],
        start_ms=times.start,
        took_ms=times.took,
        at_most_ms=times.at_most,
        allowed_ms=None if allowed is None else float(allowed),
        budget_ms=None if row["budget_ms"] is None else float(row["budget_ms"]),
        sent=bool(row["sent"]),
    )


def what(row: Row) -> str:
    """Original, which retry, or not sent; of a call that hides attempts nobody knows which it was."""
    if not row["sent"]:
        return tell("attempt.not_sent")
    if row["hidden"]:
        return tell("attempt.last") if row["last_only"] else tell("attempt.sent")
    return tell("attempt.retry", number=row["retry_no"]) if row["retry_no"] else tell("attempt.original")


def alt(bars: Sequence[Bar], reserve_ms: float, attempts: int) -> str:
    """The chart in words: who was called when, and how it ended."""
    words = table("waterfall")
    budgets = sorted({bar.budget_ms for bar in bars if bar.budget_ms is not None})
    told = [
        f"{plain(bar.group)}, {bar.label}: {plain(bar.title)}, {waterfall.ms(bar.start_ms)}"
        + (f" + {waterfall.length(bar, words)}" if bar.sent else "")
        for bar in bars
    ]
    parts = [tell("auction.alt", n=attempts)]
    if budgets:
        parts.append(tell("auction.alt_budget", budget=waterfall.ms(budgets[0]), reserve=waterfall.ms(reserve_ms)))
    return " ".join([*parts, "; ".join(told)])


def notes(auction: Auction) -> list[str]:
    """What the chart cannot show, in words."""
    found = []
    if len(auction.rows) > style.MOST_ROWS:
        found.append(say("auction.cut", shown=style.MOST_ROWS, rows=len(auction.rows)))
    by_clock = sum(times.by_clock for times in auction.times)
    if by_clock:
        text = "auction.no_begin" if by_clock == len(auction.times) else "auction.by_clock"
        found.append(say(text, attempts=by_clock, all=len(auction.rows)))
    untold = [
        times for row, times in zip(auction.rows, auction.times, strict=True) if row["sent"] and times.took is None
    ]
    if untold:
        bounded = sum(times.at_most is not None for times in untold)
        found.append(say("auction.no_latency", attempts=len(untold), bounded=bounded))
    if all(row["budget_ms"] is None for row in auction.rows):
        found.append(say("auction.no_budget"))
    elif len({row["budget_ms"] for row in auction.rows}) > 1:
        found.append(say("auction.budgets"))
    hidden = [row for row in auction.rows if row["hidden"] and row["last_only"]]
    found += [hides(row) for row in hidden[:MOST_TOLD]]
    if len(hidden) > MOST_TOLD:
        found.append(say("auction.hidden_more", calls=len(hidden) - MOST_TOLD))
    return found


def hides(row: Row) -> str:
    """What a call does not show."""
    counted = row["attempt_count"] is not None
    return ":material/visibility_off: " + say(
        "auction.hidden" if counted else "auction.hidden_uncounted", partner=row["partner"], count=row["attempt_count"]
    )


def attempt(row: Row, times: Times, titles: dict[str, str]) -> Row:
    """An attempt as it reads best."""
    return row | {
        "what": what(row),
        "start_ms": times.start,
        "start_from": tell("attempt.by_clock" if times.by_clock else "attempt.by_elapsed"),
        "outcome": titles.get(row["outcome"], row["outcome"]),
        "reason": titles.get(row["reason"], row["reason"]),
        "trigger": titles.get(row["trigger"], row["trigger"]),
        "late": None if row["late"] is None else bool(row["late"]),
        "breaker_state": None if row["breaker_state"] is None else title("state", row["breaker_state"]),
        "followed": None if row["verdict"] is None else title("wait", row["verdict"]),
        "broken": ", ".join(auction_verdicts.names(row)) or None,
    }
