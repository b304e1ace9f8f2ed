"""Breaker states: what was open when, and what it stopped."""

from datetime import UTC

from dashboard.charts import breakers as charts
from dashboard.charts import style
from dashboard.components import data, panel, tiles
from dashboard.components.data import Result, Row, Sum
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.filters import Filters, epoch_us
from dashboard.texts import say, table, tell

MOST_INTERVALS = 3_000
"""Intervals drawn at most, the newest; the table beside the chart has all."""

SUMMARY = Sum(
    ("partner", "node"),
    (
        ("state_now", 'max(state) filter ("to" is null)'),
        ("opens", "count(*) filter (state = 'open')"),
        "attempts",
        "failures",
        "blocked",
    ),
)


def headline(view: View, filters: Filters) -> None:
    """Open now, openings, blocked attempts."""
    result = data.table(view.snapshot, "breakers", filters)
    lanes = {(row["partner"], row["node"]) for row in result.rows}
    opened = [row for row in result.rows if row["state"] == "open"]
    blocked = result.total("blocked")
    known = bool(result.rows)
    tiles.show(
        [
            Tile(
                "open_now",
                style.count(sum(row["to"] is None for row in opened)) if known else style.UNKNOWN,
                metric="breakers.open_nodes",
                n=len(lanes),
                unit=tell("unit.lanes"),
            ),
            Tile(
                "opens",
                style.count(len(opened)) if known else style.UNKNOWN,
                metric="breakers.state",
                n=len(lanes),
                unit=tell("unit.lanes"),
            ),
            Tile(
                "blocked",
                style.count(blocked) if known else style.UNKNOWN,
                metric="breakers.blocked",
                n=blocked + result.total("attempts"),
                unit=tell("unit.attempts"),
            ),
        ],
        data.metric_texts(view.snapshot),
    )


def timeline(view: View, filters: Filters) -> None:
    """A lane for each partner and node."""
    result = data.table(view.snapshot, "breakers", filters)
    newest = sorted(result.rows, key=lambda row: row["from"])[-MOST_INTERVALS:]
    rows = [local(view, row) for row in newest]
    lanes = {(row["partner"], row["node"]) for row in rows}
    panel.chart(
        view,
        "breaker_timeline",
        result,
        lambda: charts.timeline(rows, view.local(view.start_us or 0), view.local(view.end_us or 0), table("state")),
        metrics=("breakers.state",),
        n=len(lanes),
        unit=tell("unit.lanes"),
        note=health(result, len(lanes)),
    )


def local(view: View, row: Row) -> Row:
    """An interval in local times."""
    moments = {
        side: None if row[side] is None else view.local(epoch_us(row[side].replace(tzinfo=UTC)))
        for side in ("from", "to")
    }
    return row | moments


def health(result: Result, lanes: int) -> str:
    """Says that nothing opened, or that the chart has not all lanes or intervals."""
    if len(result.rows) > MOST_INTERVALS:
        return say("panel.cut", shown=MOST_INTERVALS, rows=len(result.rows))
    if result.rows and not any(row["state"] == "open" for row in result.rows):
        return say("breakers_note.healthy", lanes=lanes)
    return say("panel.cut", shown=style.MOST_ROWS, rows=lanes) if lanes > style.MOST_ROWS else ""


def summary(view: View, filters: Filters) -> None:
    """One row a partner and node."""
    result = data.table(view.snapshot, "breakers", filters, shape=SUMMARY)
    rows = sorted(result.rows, key=lambda row: (-row["opens"], row["partner"]))
    panel.table(view, "breaker_summary", result, rows, metrics=("breakers.blocked", "breakers.failures"))
