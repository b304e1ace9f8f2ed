"""What the breakers should have done, compared with what they reported, in sentences; each leads to its attempts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import streamlit as st

from dashboard.charts import style
from dashboard.charts.breakers import duration
from dashboard.components import breakers, data, grid, hidden, panel
from dashboard.components.data import Row
from dashboard.components.view import View, clock
from dashboard.filters import Filters, epoch_us
from dashboard.texts import say, tell

MOST_TOLD = 8
MOST_MORE = 40
"""Sentences shown at once, and behind one more click; the table has all."""

MOST_NAMED = 5
ICONS = {
    "missed": ":material/electric_bolt:",
    "late": ":material/schedule:",
    "untold": ":material/help:",
    "needless": ":material/block:",
    "met": ":material/check_circle:",
}


def differences(view: View, filters: Filters) -> None:
    """A sentence for each outage of the reference and each needless opening, the costliest first."""
    result = data.table(view.snapshot, "breaker_gaps", filters)
    shown = breakers.intervals(view, filters).rows
    chosen: list[Row] = []
    with st.container(border=True):
        panel.head(
            view,
            "breaker_gaps",
            result,
            ("breaker_gaps.wasted", "breaker_gaps.lag", "breaker_gaps.needless", "breakers.state"),
            len(result.rows),
            tell("unit.outages"),
        )
        st.caption(reference(view.snapshot.settings))
        if silent := silent_partners(shown):
            st.markdown(f":material/help: {silent}")
        if not shown:
            panel.nothing("gap.no_attempts")
        elif not result.rows and not silent:
            st.markdown(f":material/check_circle: {say('gap.none')}")
        elif not result.rows:
            unseen = hidden.find(view, filters, "exchange")
            closed = say("gap.closed") if unseen is None else say("hidden.closed", hidden=unseen.hidden)
            st.markdown(f":material/{'check_circle' if unseen is None else 'help'}: {closed}")
        several(view, gathered(result.rows), chosen)
    if chosen:
        attempts(view, chosen[0])


def reference(settings: Mapping[str, str]) -> str:
    """The rule by which the reference breaker opens, as it is set."""
    text = say(
        "gap.rule",
        share=style.percent(float(settings["breaker_failure_share"])),
        attempts=settings["breaker_min_attempts"],
        window=duration(float(settings["breaker_window_s"])),
        open=duration(float(settings["breaker_open_s"])),
    )
    own = sorted(json.loads(settings["breaker_partners"]))
    return f"{text} {say('gap.own', partners=', '.join(own))}" if own else text


def silent_partners(shown: Sequence[Row]) -> str:
    """Names the partners that the reference judges, and of whose breakers the logs tell nothing."""
    told = {row["partner"] for row in shown if row["kind"] == "reported" and row["state"] != "unknown"}
    silent = sorted({row["partner"] for row in shown} - told)
    if not silent:
        return ""
    names = [say("gap.name", partner=name) for name in silent[:MOST_NAMED]]
    if len(silent) > MOST_NAMED:
        names.append(say("gap.more", n=len(silent) - MOST_NAMED))
    return f"{say('gap.silent')} {', '.join(names)}."


def gathered(rows: Sequence[Row]) -> list[Row]:
    """The rows, but those of which nothing is told as one a partner: its costliest, with the cost of all."""
    found: list[Row] = []
    untold: dict[str, Row] = {}
    for row in rows:
        if row["verdict"] != "untold":
            found.append(row)
        elif row["partner"] in untold:
            untold[row["partner"]]["outages"] += 1
            untold[row["partner"]]["all_wasted"] += row["wasted"]
        else:
            untold[row["partner"]] = row | {"outages": 1, "all_wasted": row["wasted"]}
    found += untold.values()
    return sorted(found, key=lambda row: -(row.get("all_wasted") or row["wasted"] or row["blocked"] or 0))


def several(view: View, rows: Sequence[Row], chosen: list[Row]) -> None:
    """The sentences; the one whose attempts were asked for is put into `chosen`."""
    for place, row in enumerate(rows[:MOST_TOLD]):
        one(view, place, row, chosen)
    if len(rows) > MOST_TOLD:
        with st.expander(say("gap.more", n=len(rows) - MOST_TOLD)):
            for place, row in enumerate(rows[MOST_TOLD : MOST_TOLD + MOST_MORE], MOST_TOLD):
                one(view, place, row, chosen)
            if len(rows) > MOST_TOLD + MOST_MORE:
                st.caption(say("gap.rest", n=len(rows) - MOST_TOLD - MOST_MORE))


def one(view: View, place: int, row: Row, chosen: list[Row]) -> None:
    """One sentence, and the door to its attempts."""
    said, door = st.columns([6, 1], vertical_alignment="center", gap="small")
    key = f"{view.snapshot.id} {row['partner']} {row['node']} {row['from']}"
    with said:
        st.markdown(f"{ICONS[row['verdict']]} {sentence(view, row)}")
    with door:
        if st.button(tell("gap.see"), key=f"gap_{place}", type="tertiary", icon=":material/table_view:"):
            st.session_state["_gap"] = key
    if st.session_state.get("_gap") == key:
        chosen.append(row)


def sentence(view: View, row: Row) -> str:
    """The difference in words."""
    lasted = duration(row["seconds"])
    text = row["verdict"]
    if text == "needless" and row["node"] is not None:
        text = "needless_node"
    elif row.get("outages", 1) > 1:
        text = "untold_more"
    return say(
        f"gap.{text}",
        partner=row["partner"],
        node=row["node"],
        at=clock(view.local(moment_us(row["from"]))),
        lag=duration(row["lag_s"] or 0),
        lasted=lasted if row["to"] is not None else tell("gap.still", lasted=lasted),
        open=row["open_nodes"],
        nodes=row["nodes"],
        wasted=row["wasted"],
        blocked=row["blocked"],
        outages=row.get("outages"),
        all_wasted=row.get("all_wasted"),
    )


def attempts(view: View, row: Row) -> None:
    """The partner's attempts in the interval, newest first."""
    lo = moment_us(row["from"])
    hi = moment_us(row["to"]) if row["to"] is not None else None
    filters = replace(view.filters, frm_us=lo, to_us=hi, partners=(row["partner"],))
    result = data.table(view.snapshot, "recent_attempts", filters)
    titles = data.reason_titles(view.snapshot)
    panel.table(
        view,
        "gap_attempts",
        result,
        [one | {name: titles.get(one[name], one[name]) for name in ("outcome", "reason")} for one in result.rows],
        note=say(
            "gap.attempts_note",
            partner=row["partner"],
            rows=len(result.rows),
            frm=clock(view.local(lo)),
            to=clock(view.local(hi)) if hi is not None else tell("gap.end"),
        ),
        absent=grid.ABSENT,
    )


def moment_us(moment: datetime) -> int:
    """Epoch microseconds of a naive UTC time."""
    return epoch_us(moment.replace(tzinfo=UTC))
