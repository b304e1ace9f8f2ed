"""The time that retries had and took, and the money that they rescued."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import streamlit as st

from dashboard.charts import budget as charts
from dashboard.charts import style
from dashboard.components import choices, data, hidden, panel
from dashboard.components.data import Result, Row
from dashboard.components.retries import of
from dashboard.components.shapes import Only
from dashboard.components.view import View
from dashboard.escape import plain
from dashboard.filters import Filters
from dashboard.tables.context import texts
from dashboard.text import scalar
from dashboard.texts import say, table, tell

EVERY = "*"


def left(view: View, filters: Filters) -> None:
    """Time left at the sending of one partner's retries; feasible ones apart from those without time."""
    tried = data.table(view.snapshot, "retries", filters, shape=Only(of("exchange"))).rows
    if not tried:
        with st.container(border=True):
            panel.title("budget_left", say("panel.budget_left.title"), say("panel.budget_left.about"))
            panel.nothing("budget.none" if hidden.find(view, filters, "exchange") is None else "hidden.retries")
        return
    with st.container():
        partner, trigger = choose(view, filters, tried)
        shape = Only("true" if trigger == EVERY else f"trigger = {texts((trigger,))}")
        result = data.table(view.snapshot, "budget_left", replace(filters, partners=(partner,)), shape=shape)
        known = any(row["left_from_ms"] is not None for row in result.rows)
        panel.chart(
            view,
            "budget_left",
            result,
            lambda: charts.left(result.rows, table("budget")),
            metrics=("budget.left", "budget.feasible", "calls.late_retries"),
            n=result.total("retries"),
            unit=tell("unit.retries"),
            note=note(result) if known else "",
            empty=not known,
            absent="budget.unknown" if result.rows else "",
        )
        with st.expander(tell("budget.help"), icon=":material/school:"):
            st.markdown(say("budget.cases", reserve=view.snapshot.settings["reserve_ms"]))


def choose(view: View, filters: Filters, tried: Sequence[Row]) -> tuple[str, str]:
    """The partner and the trigger to look at; at first who was retried without time most often, and every trigger."""
    counts: dict[str, int] = {}
    for row in tried:
        counts[row["partner"]] = counts.get(row["partner"], 0) + row["retries"]
    broken = data.table(view.snapshot, "audit", filters, shape=Only("rule = 'R5'")).rows
    pressed = {row["partner"]: row["violations"] for row in broken}
    partners = sorted(counts, key=lambda name: (-pressed.get(name, 0), -counts[name], name))
    titles = data.reason_titles(view.snapshot) | {EVERY: tell("budget.every")}
    first, second = st.columns(2)
    with first:
        partner = st.selectbox(tell("budget.partner"), partners, format_func=plain, key="budget_partner")
    triggers = sorted({row["trigger"] for row in tried if row["partner"] == partner})
    with second:
        trigger = st.selectbox(
            tell("budget.trigger"),
            [EVERY, *triggers],
            format_func=lambda name: titles.get(name, name),
            key=choices.labelled("budget_trigger"),
        )
    return partner or partners[0], trigger or EVERY


def note(result: Result) -> str:
    """How many retries could be judged, and how many had no time or ended late."""
    judged = result.total("feasible") + result.total("infeasible")
    return say(
        "budget.note",
        judged=judged,
        infeasible=result.total("infeasible"),
        share=style.percent(style.ratio(result.total("infeasible"), judged)),
        late=result.total("late"),
        late_checked=result.total("late_checked"),
        unjudged=result.total("retries") - judged,
    )


def late(view: View, filters: Filters) -> None:
    """Late retries of each partner, of those that could be judged; the worst first."""
    result = data.table(view.snapshot, "calls", filters, shape=Only(f"{of('exchange')} and retries > 0"))
    rows = [row | {"share": style.ratio(row["late_retries"], row["late_checked"])} for row in result.rows]
    rows.sort(key=lambda row: (-(row["share"] or 0), -row["late_checked"], row["partner"]))
    panel.table(
        view,
        "late",
        result,
        rows,
        columns=("partner", "late_retries", "late_checked", "share", "retries"),
        metrics=("calls.late_retries", "calls.late_checked"),
        note=say("late.none") if rows and not result.total("late_checked") else "",
        empty="" if hidden.find(view, filters, "exchange") is None else "hidden.retries",
    )


def rescued(view: View, filters: Filters) -> None:
    """Wins and revenue of bids that came on a retry, by currency."""
    result = data.table(view.snapshot, "rescued", filters)
    known = view.snapshot.evidence.get("win", False)
    panel.table(
        view,
        "rescued",
        result,
        [
            row
            | {
                "trigger": data.reason_titles(view.snapshot).get(row["trigger"], row["trigger"]),
                "currency": row["currency"] or tell("rescued.no_currency"),
                "revenue": None if row["currency"] is None else scalar(row["revenue"]),
            }
            for row in result.rows
        ],
        columns=("currency", "partner", "trigger", "wins", "revenue"),
        metrics=("rescued.wins", "rescued.revenue"),
        note=" ".join(
            part
            for part in (amounts(result.rows) if known else say("rescued.none_known"), unseen(view, filters))
            if part
        ),
        empty=no_rescue(view, filters, known),
    )


def no_rescue(view: View, filters: Filters, known: bool) -> str:
    """Which text stands where no rescued win is known; empty where there is none."""
    if hidden.find(view, filters, "exchange") is not None:
        return "hidden.rescues"
    return "" if known else "rescued.unknown"


def unseen(view: View, filters: Filters) -> str:
    """Of how many calls nobody knows whether a retry brought their win."""
    found = hidden.find(view, filters, "exchange")
    return "" if found is None else say("hidden.rescued", hidden=found.hidden)


def amounts(rows: Sequence[Row]) -> str:
    """The sum in each currency, and the wins of which no price is known."""
    sums: dict[str | None, tuple[Decimal, int]] = {}
    for row in rows:
        amount, wins = sums.get(row["currency"], (Decimal(0), 0))
        sums[row["currency"]] = (amount + (row["revenue"] or Decimal(0)), wins + row["wins"])
    parts = [
        say("rescued.no_price", wins=wins)
        if currency is None
        else say("rescued.total", currency=currency, amount=scalar(amount), wins=wins)
        for currency, (amount, wins) in sums.items()
    ]
    return f"{say('rescued.by_currency')} {'; '.join(parts)}." if parts else ""
