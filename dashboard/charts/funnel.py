"""The funnels: nested stages of one unit, and why the next stage was not reached."""

from collections.abc import Callable, Collection, Mapping

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.bars import counts
from dashboard.charts.style import Row, Rows
from dashboard.texts import tell, title

STAGE_COLOURS = (style.BLUE, "#0C78B2", "#479FCF", "#4EA9DB", style.SKY, "#7CC4EA", "#96D0EE", "#B0DCF2")


def stages(rows: Rows, least: Collection[str] = ()) -> go.Figure:
    """One funnel's stages, as rows of the table `funnel`; a stage without evidence is named unknown.

    Of the stages `least` there may be more than is known: shares of them, or by them, would not be true.
    """
    ordered = sorted(rows, key=lambda row: row["position"])
    before = [None, *(row["stage"] for row in ordered[:-1])]
    return counts(
        [readable(row["stage"]) for row in ordered],
        [row["count"] for row in ordered],
        [
            or_more(row) if row["stage"] in least else "" if place in least else share_of_previous(row)
            for row, place in zip(ordered, before, strict=True)
        ],
        colours=[STAGE_COLOURS[index % len(STAGE_COLOURS)] for index in range(len(ordered))],
    )


def losses(rows: Rows, titled: Callable[[Row], str | None], missed: Mapping[str, str]) -> go.Figure:
    """Losses by stage and reason in the order given; `titled` names a known reason, `missed` the stage not reached."""
    return counts(
        [titled(row) or readable(row["reason"]) for row in rows],
        [row["count"] for row in rows],
        [missed.get(row["stage"], readable(row["stage"])) for row in rows],
        colours=style.ORANGE,
        above=True,
    )


def share_of_previous(row: Row) -> str:
    """What is left of the stage before; nothing for the first stage."""
    return "" if row["of_previous"] is None else style.percent(row["of_previous"])


def or_more(row: Row) -> str:
    """Said beside a count that may be higher."""
    return "" if row["count"] is None else tell("untold.or_more")


def readable(name: object) -> str:
    """A code in words: in_auction -> in auction."""
    return title("code", name)
