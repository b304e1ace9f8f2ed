"""Throttling on both sides, and what became of postbacks."""

from collections.abc import Mapping

import streamlit as st

from dashboard.charts import limits as charts
from dashboard.charts import style, timeline
from dashboard.components import (
    buckets,
    data,
    hidden,
    once,
    orders,
    panel,
    past,
    throttles,
    tiles,
    timechart,
    untold,
    windows,
)
from dashboard.components.buckets import Series, Trend
from dashboard.components.data import Row
from dashboard.components.shapes import Sum
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.escape import name_of
from dashboard.filters import Filters
from dashboard.texts import say, tell, title

COUNTS = (
    "requests",
    ("limited", "case when count(limited) = count(*) then sum(limited) end::bigint"),
)
"""Sums of the table `rate_limits`: how many were refused is unknown where a part of it is."""

OUTCOMES = {
    "accepted": (style.BLUE, ""),
    "duplicate": (style.SKY, "/"),
    "rate_limited": (style.ORANGE, ""),
    "stale_timestamp": (style.PURPLE, ""),
    "replay": (style.PURPLE, "/"),
    "client_error": (style.YELLOW, ""),
    "server_error": (style.RED, ""),
    "unexpected_status": (style.GREY, "x"),
    "answered_unknown": (style.GREY, "."),
}
"""Outcome of a postback -> colour, pattern; an accepted one that was known already is a duplicate."""


def headline(view: View, filters: Filters) -> None:
    """429 rates of both streams; what became of orders and postbacks; who did not wait, and what went over a limit."""
    tiles.compared(view, filters, figures)
    hidden.postbacks(view, filters)
    hidden.note(view, filters, "postback")
    unseen = hidden.find(view, filters, "exchange")
    if unseen is not None:
        names = hidden.named(unseen.names)
        st.caption(f":material/visibility_off: {say('hidden.requests', hidden=unseen.hidden).format(names=names)}")


def figures(view: View, filters: Filters) -> list[Tile]:
    """The tiles."""
    shown = [
        limited(view, filters, f"limited_{stream}", f"stream = '{stream}'")
        for stream in ("exchange", "postback")
        if data.has_stream(view.snapshot, stream)
    ]
    if data.has_stream(view.snapshot, "postback"):
        shown += [*postback_tiles(view, filters), *orders.headline(view, filters), windows.tile(view, filters)]
    return [*shown, throttles.tile(view, filters)]


def limited(view: View, filters: Filters, name: str, only: str = "true") -> Tile:
    """The 429 rate over everything that was asked, or a part of it."""
    shape = Sum((), COUNTS, only)
    whole = data.table(view.snapshot, "rate_limits", filters, shape=shape)
    return tiles.rate(
        name,
        whole.whole("limited"),
        whole.total("requests"),
        metric="rate_limits.rate",
        unit=tell("unit.requests"),
        trend=Trend(view, "rate_limits", filters, shape).line("limited", "requests"),
    )


def postback_tiles(view: View, filters: Filters) -> list[Tile]:
    """Accepted and duplicate postbacks; nothing where the warehouse has none."""
    if not data.has_stream(view.snapshot, "postback"):
        return []
    shape = Sum(
        (),
        (
            ("accepted", known("coalesce(sum(postbacks) filter (outcome = 'accepted'), 0)")),
            "postbacks",
            ("duplicates", known("sum(duplicates)")),
        ),
    )
    result = data.table(view.snapshot, "postback_outcomes", filters, shape=shape)
    series = Trend(view, "postback_outcomes", filters, shape)
    accepted = result.whole("accepted")
    told = orders.carries(view)["duplicates"]
    return [
        tiles.rate(
            "accepted",
            accepted,
            result.total("postbacks"),
            metric="postbacks.accepted_share",
            unit=tell("unit.postbacks"),
            trend=series.line("accepted", "postbacks"),
        ),
        tiles.rate(
            "duplicates",
            result.whole("duplicates"),
            accepted if told else None,
            metric="postbacks.duplicates",
            unit=tell("unit.accepted"),
            trend=series.line("duplicates", "accepted") if told else None,
        ),
    ]


def known(count: str) -> str:
    """SQL of a count that is unknown where some answers are."""
    return f"case when coalesce(bool_and(outcome <> 'answered_unknown'), true) then {count} end::bigint"


def rates(view: View, filters: Filters) -> None:
    """429 by partner, key and endpoint."""
    result = data.table(view.snapshot, "rate_limits", filters)
    healthy = result.rows and result.whole("limited") == 0
    note = say("limits_note.healthy", requests=result.total("requests")) if healthy else ""
    if len(result.rows) > style.MOST_ROWS:
        note = say("panel.cut", shown=style.MOST_ROWS, rows=len(result.rows))
    panel.chart(
        view,
        "limit_rates",
        result,
        lambda: charts.rates(result.rows),
        metrics=("rate_limits.rate",),
        n=result.total("requests"),
        unit=tell("unit.requests"),
        note=note,
    )


def over_time(view: View, filters: Filters) -> None:
    """The 429 rate of the partners and keys that are refused most."""
    shape = Sum(("stream", "partner"), COUNTS)
    series = buckets.series(view, "rate_limits", filters=filters, shape=shape)
    lines = once.made(view, "limit_time", series.result, lambda: most_refused(series))
    before = past.series(view, "rate_limits", filters=filters, shape=shape)
    told = any(row["limited"] is not None for row in series.result.rows)
    part = told and untold.refusals(series.result)
    partners = {row["partner"] for row in series.result.rows}
    rest = panel.cut(len({name_of(partner) for partner in partners}), len(lines)) if told else ""
    timechart.show(
        view,
        filters,
        "limit_time",
        series.result,
        lambda: timeline.rates(
            series.times,
            lines,
            unit=tell("unit.requests"),
            past=past.lines(view, before, whose, "limited", "requests", lines),
        ),
        metrics=("rate_limits.rate",),
        n=series.result.total("requests"),
        unit=tell("unit.requests"),
        note=" ".join(text for text in (rest, say("untold.refusals_part") if part else "") if text),
        empty=not told,
        absent=untold.refusals(series.result),
    )


def whose(row: Row) -> str:
    """Whose line a row belongs to."""
    return name_of(row["partner"])


def most_refused(series: Series) -> Mapping[str, timeline.Parts]:
    """Refused and all requests of those who were refused most."""
    return series.rates(whose, "limited", "requests", names=refused(series))


def refused(series: Series) -> list[str] | None:
    """Those who were refused, most first; None where nobody was."""
    found = series.column(whose, "limited")
    return [key for key in buckets.busiest(found) if any(found[key])][: buckets.MOST_LINES] or None


def postbacks_over_time(view: View, filters: Filters) -> None:
    """Postbacks by outcome; accepted ones apart from accepted duplicates."""
    series = buckets.series(
        view, "postback_outcomes", filters=filters, shape=Sum(("outcome",), ("postbacks", "duplicates"))
    )
    before = past.series(view, "postback_outcomes", filters=filters, shape=Sum((), ("postbacks",)))
    timechart.show(
        view,
        filters,
        "postback_time",
        series.result,
        lambda: timeline.stacked(
            series.times,
            by_outcome(series),
            colours={title("postback", key): colour for key, (colour, _) in OUTCOMES.items()},
            patterns={title("postback", key): shape for key, (_, shape) in OUTCOMES.items()},
            unit=tell("unit.postbacks"),
            past=past.total(view, before, "postbacks"),
        ),
        metrics=("postbacks.accepted_share", "postbacks.duplicates"),
        n=series.result.total("postbacks"),
        unit=tell("unit.postbacks"),
    )


def by_outcome(series: Series) -> Mapping[str, list[int]]:
    """Postbacks of each bucket by what became of them; accepted duplicates apart."""
    found = buckets.filled(series.column(lambda row: str(row["outcome"]), "postbacks"))
    again = buckets.filled(series.column(lambda _: "duplicate", "duplicates")).get("duplicate", [])
    if "accepted" in found:
        found["accepted"] = [whole - twice for whole, twice in zip(found["accepted"], again, strict=True)]
        found["duplicate"] = again
    return {title("postback", key): found[key] for key in OUTCOMES if key in found}
