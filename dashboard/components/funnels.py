"""A funnel and its losses, side by side."""

from dashboard.charts import funnel as charts
from dashboard.components import data, layout, panel, untold
from dashboard.components.shapes import Only
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.texts import say, table, tell

MOST_LOSSES = 14
BIDS = {"call": ("bid", "in_auction"), "auction": ("bid",)}
"""Stages of a funnel that count bids: an answer that may be a bid or not is not in them."""


def show(view: View, funnel: str, filters: Filters) -> None:
    """Stages at the left, reasons at the right."""
    left, right = layout.halves()
    with left:
        stages(view, funnel, filters)
    with right:
        losses(view, funnel, filters)


def stages(view: View, funnel: str, filters: Filters) -> None:
    """One funnel's stages with its unit."""
    result = data.table(view.snapshot, "funnel", filters, shape=Only(f"funnel = '{funnel}'"))
    first = next((row["count"] for row in result.rows), None)
    told = untold.answers(view, filters) if funnel in BIDS else untold.Answers(0, 0)
    least = BIDS[funnel] if told.untold else ()
    bid = next((row["count"] for row in result.rows if row["stage"] == "bid"), None)
    panel.chart(
        view,
        f"funnel_{funnel}",
        result,
        lambda: charts.stages(result.rows, least),
        metrics=("funnel.of_previous",),
        n=first,
        unit=tell(f"unit.{funnel}s"),
        note=" ".join(part for part in (tell("funnel.shares"), untold.bids(told) if bid is not None else "") if part),
        empty=not first,
    )


def losses(view: View, funnel: str, filters: Filters) -> None:
    """Why the next stage was not reached, largest first."""
    result = data.table(view.snapshot, "losses", filters, shape=Only(f"funnel = '{funnel}'"))
    rows = sorted(result.rows, key=lambda row: -row["count"])
    notes = [say("panel.cut", shown=MOST_LOSSES, rows=len(rows))] if len(rows) > MOST_LOSSES else []
    if funnel == "auction" and untold.answers(view, filters).untold and result.of(stage="bid"):
        notes.append(say("untold.losses_bids"))
    panel.chart(
        view,
        f"losses_{funnel}",
        result,
        lambda: charts.losses(
            rows[:MOST_LOSSES],
            lambda row: data.loss_titles(view.snapshot, funnel, row["stage"]).get(str(row["reason"])),
            table("missed"),
        ),
        metrics=("losses.count",),
        n=result.total("count"),
        unit=tell(f"unit.{funnel}s"),
        note=" ".join(notes),
        absent=untold.losses(view, funnel, filters),
    )
