"""Why partners declined: ranges, codes, partners, time, and who can do something about it."""

from collections.abc import Sequence

import streamlit as st

from dashboard.charts import no_bids as charts
from dashboard.charts import style, timeline
from dashboard.charts.funnel import readable
from dashboard.components import buckets, data, hidden, panel, past, tiles, timechart, untold
from dashboard.components.data import Result
from dashboard.components.shapes import Sum
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.escape import markdown
from dashboard.filters import Filters
from dashboard.texts import no_bid, say, tell, title

MOST_ADVICE = 5
"""So many remedies are written out above their table, the commonest reasons first."""

LONGEST = 600

BY_CLASS = Sum(("class",), ("no_bids",))

RANGES = {
    "0-17 listed": "listed",
    "18-499 reserved": "reserved",
    "500+ exchange-specific": "exchange",
    "no reason given": "none",
    "invalid code": "invalid",
    "unknown to the log": "unknown",
}
"""A range as tables and files have it -> its name in the texts."""

GROUP = (
    "grp",
    "case class when 'reserved' then '18-499 reserved' when 'exchange' then '500+ exchange-specific' "
    "when 'none' then 'no reason given' when 'invalid' then 'invalid code' "
    "when 'unknown' then 'unknown to the log' else '0-17 listed' end",
)


def headline(view: View) -> None:
    """No-bids, and the share of them that gives no reason."""
    tiles.compared(view, view.filters, figures)
    notes = [untold.bids(untold.answers(view, view.filters))]
    classes = data.table(view.snapshot, "no_bids", view.filters, shape=BY_CLASS)
    if not coded(classes):
        notes.append(say("untold.codes", no_bids=classes.total("no_bids")))
    unseen = hidden.find(view, view.filters, "exchange")
    if unseen is not None:
        notes.append(say("hidden.no_bids_part", hidden=unseen.hidden))
    for line in filter(None, notes):
        st.caption(f":material/visibility_off: {line}")


def figures(view: View, filters: Filters) -> list[Tile]:
    """The tiles."""
    answers = untold.answers(view, filters)
    classes = data.table(view.snapshot, "no_bids", filters, shape=BY_CLASS)
    total = classes.total("no_bids")
    silent = sum(row["no_bids"] for row in classes.of(**{"class": "none"}))
    harmful = sum(row["no_bids"] for row in classes.rows if row["class"] in ("request", "traffic"))
    judged = None if untold.no_bids(view, filters) and (answers.untold or not total) else total
    among = total if coded(classes) else None
    return [
        tiles.rate("no_bid_share", judged, answers.all, metric="no_bids.share", unit=tell("unit.answers")),
        tiles.rate("no_reason", silent, among, metric="no_bids.no_reason_share", unit=tell("unit.no_bids")),
        tiles.rate("harmful", harmful, among, metric="no_bids.never_retry_share", unit=tell("unit.no_bids")),
    ]


def coded(classes: Result) -> bool:
    """Whether the logs of all no-bids can carry a code."""
    return not classes.of(**{"class": "unknown"})


def ranges(view: View) -> None:
    """Codes in their ranges."""
    result = data.table(view.snapshot, "no_bids", view.filters, shape=Sum((GROUP,), ("no_bids",)))
    ordered = sorted(result.rows, key=lambda row: -row["no_bids"])
    rows = [row | {"grp": title("code_range", RANGES.get(row["grp"], row["grp"]))} for row in ordered]
    panel.chart(
        view,
        "no_bid_groups",
        result,
        lambda: charts.groups(rows),
        n=result.total("no_bids"),
        unit=tell("unit.no_bids"),
        absent=untold.no_bids(view, view.filters),
    )


def reasons(view: View, filters: Filters) -> None:
    """Codes by name, and below them who fixes what."""
    result = data.table(view.snapshot, "no_bids", filters, shape=Sum(("reason", "name", "class"), ("no_bids",)))
    panel.chart(
        view,
        "no_bid_reasons",
        result,
        lambda: charts.reasons(named(result.rows)),
        note=panel.cut(len(result.rows)),
        metrics=("no_bids.no_bids",),
        n=result.total("no_bids"),
        unit=tell("unit.no_bids"),
        absent=untold.no_bids(view, filters),
    )


def named(rows: Sequence[data.Row]) -> list[data.Row]:
    """Rows with the name of their reason in the session's language."""
    return [no_bid(row, row["reason"]) for row in rows]


def remedies(view: View) -> None:
    """For each reason that occurs: who owns it and what to do."""
    result = data.table(view.snapshot, "no_bids", view.filters, shape=Sum(("reason", "name", "class"), ("no_bids",)))
    texts = data.nbr_texts(view.snapshot)
    by_code = {str(row["code"]): row for row in texts if row["code"] is not None}
    by_class = {row["class"]: row for row in texts if row["code"] is None}
    total = result.total("no_bids")
    rows = []
    for row in sorted(result.rows, key=lambda row: -row["no_bids"]):
        text = by_code.get(row["reason"]) or by_class.get(row["class"]) or {}
        rows.append(
            {
                "reason": charts.reason_title(str(row["reason"]), no_bid(row, row["reason"])["name"]),
                "class": readable(row["class"]),
                "no_bids": row["no_bids"],
                "share": style.ratio(row["no_bids"], total),
                "owner": text.get("owner"),
                "remedy": text.get("remedy"),
            }
        )
    advice = [
        say("no_bids.advice", reason=row["reason"], owner=row["owner"]) + " " + markdown(row["remedy"], LONGEST)
        for row in rows[:MOST_ADVICE]
        if row["remedy"]
    ]
    panel.table(
        view,
        "no_bid_remedies",
        result,
        rows,
        note="\n\n".join(advice),
        empty=untold.no_bids(view, view.filters),
    )


def by_partner(view: View) -> None:
    """Each partner's mix of classes."""
    result = data.table(view.snapshot, "no_bids", view.filters, shape=Sum(("partner", "class"), ("no_bids",)))
    panel.chart(
        view,
        "no_bid_partners",
        result,
        lambda: charts.by_partner(result.rows),
        note=panel.cut(len({row["partner"] for row in result.rows})),
        metrics=("no_bids.no_reason_share",),
        n=result.total("no_bids"),
        unit=tell("unit.no_bids"),
        absent=untold.no_bids(view, view.filters),
    )


def over_time(view: View, filters: Filters) -> None:
    """Classes over time."""
    series = buckets.series(view, "no_bids", filters=filters, shape=Sum(("class",), ("no_bids",)))
    before = past.series(view, "no_bids", filters=filters, shape=Sum((), ("no_bids",)))
    found = buckets.filled(series.column(lambda row: readable(row["class"]), "no_bids"))
    ordered = {readable(name): found[readable(name)] for name in charts.CLASSES if readable(name) in found}
    timechart.show(
        view,
        filters,
        "no_bid_time",
        series.result,
        lambda: timeline.stacked(
            series.times,
            ordered,
            colours=charts.colours(),
            patterns=charts.patterns(),
            unit=tell("unit.no_bids"),
            past=past.total(view, before, "no_bids"),
        ),
        n=series.result.total("no_bids"),
        unit=tell("unit.no_bids"),
        absent=untold.no_bids(view, filters),
    )
