"""Breaker states: what was open when, and what it stopped."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, timedelta

from dashboard.charts import breakers as charts
from dashboard.charts import style
from dashboard.charts.breakers import Piece
from dashboard.components import data, once, panel, tiles, timechart
from dashboard.components.compare import Amount
from dashboard.components.data import Result, Row
from dashboard.components.shapes import Joined, Only
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.filters import Filters, epoch_us, utc
from dashboard.texts import say, table, tell, title

SPANS = {"open_s": "open_for", "half_open_s": "half_open_for", "closed_s": "closed_for", "unknown_s": "unknown_for"}
"""Seconds in a state -> the column that tells them."""

COLUMNS = (
    "partner",
    "node",
    "state_now",
    "open_nodes",
    "opens",
    "open_share",
    *SPANS.values(),
    "probes_answered",
    "time_to_recover",
    "failures",
    "blocked",
    "attempts",
)
NOW = Only("""kind = 'reported' and "to" is null""")
LANE = ("partner", "node", "kind", "state")

MOST_NAMED = 5
"""Partners with an open breaker that are named above the table; the table has all."""


def headline(view: View, filters: Filters) -> None:
    """Open now; openings, time open, probes and blocked attempts of the range, with their change."""
    tiles.compared(view, filters, figures)


def figures(view: View, filters: Filters) -> list[Tile]:
    """The tiles."""
    result = data.table(view.snapshot, "breaker_nodes", filters)
    known = bool(result.rows)
    opens, blocked = result.total("opens"), result.total("blocked")
    time_open = style.ratio(sum(row["open_s"] for row in result.rows), sum(row["known_s"] for row in result.rows))
    lanes, unit = len(result.rows), tell("unit.lanes")
    return [
        open_now(view, filters),
        Tile(
            "opens",
            style.count(opens) if known else style.unknown(),
            metric="breakers.opens",
            n=lanes,
            unit=unit,
            amount=Amount("count", opens if known else None),
        ),
        Tile(
            "time_open",
            style.percent(time_open),
            metric="breakers.time_open",
            n=lanes,
            unit=unit,
            amount=Amount("share", time_open),
        ),
        tiles.rate(
            "probe_success",
            result.total("probes_answered"),
            result.total("probes_judged"),
            metric="breakers.probe_success",
            unit=tell("unit.probes"),
        ),
        Tile(
            "blocked",
            style.count(blocked) if known else style.unknown(),
            metric="breakers.blocked",
            n=blocked + result.total("attempts"),
            unit=tell("unit.attempts"),
            amount=Amount("count", blocked if known else None),
        ),
    ]


def open_now(view: View, filters: Filters) -> Tile:
    """Lanes whose breaker is open at the end of all data: no range changes that."""
    ever = replace(filters, frm_us=None, to_us=None)
    now = data.table(view.snapshot, "breakers", ever, shape=NOW).rows
    return Tile(
        "open_now",
        style.count(sum(row["state"] == "open" for row in now)) if now else style.unknown(),
        metric="breakers.open_nodes",
        n=len(now),
        unit=tell("unit.lanes"),
        ranged=False,
    )


def timeline(view: View, filters: Filters) -> None:
    """A lane for each partner and node, and one for what the reference breaker would have done."""
    result = intervals(view, filters)
    drawn, lanes, note = once.made(view, "breaker_pieces", result, lambda: drawn_of(view, result))
    timechart.show(
        view,
        filters,
        "breaker_timeline",
        result,
        lambda: charts.timeline(
            [local(view, piece) for piece in drawn],
            view.local(view.start_us or 0),
            view.local(view.end_us or 0),
            table("state"),
        ),
        metrics=("breakers.state",),
        n=lanes,
        unit=tell("unit.lanes"),
        note=note,
        leave=("open",),
    )


def intervals(view: View, filters: Filters) -> Result:
    """The intervals of the range; those that no chart tells apart as one."""
    start, end = view.start_us or 0, view.end_us or 0
    gap = charts.narrowest(utc(start), utc(end))
    shape = Joined(LANE, ("attempts", "failures", "blocked"), start, end, gap // timedelta(microseconds=1))
    return data.table(view.snapshot, "breakers", filters, shape=shape)


def drawn_of(view: View, result: Result) -> tuple[list[Piece], int, str]:
    """The bars of the timeline, how many lanes there are, and what the chart says of both."""
    pieces, gap = charts.fitting(result.rows, utc(view.start_us or 0), utc(view.end_us or 0))
    lanes = len({charts.lane_of(row) for row in result.rows})
    return pieces, lanes, health(result, pieces, gap, lanes)


def local(view: View, piece: Piece) -> Piece:
    """A bar in local times."""
    start, end = (view.local(epoch_us(moment.replace(tzinfo=UTC))) for moment in (piece.start, piece.end))
    return replace(piece, start=start, end=end)


def health(result: Result, pieces: Sequence[Piece], gap: timedelta, lanes: int) -> str:
    """Says what the lanes are, that nothing opened or no state is told, and what the chart joins or leaves out."""
    reported = result.of(kind="reported")
    if result.rows and not reported:
        said = [say("breakers_note.only_expected")]
    else:
        said = [say("breakers_note.lanes")] if result.rows else []
    if reported and not any(row["state"] == "open" for row in reported):
        said.append(say("breakers_note.healthy", lanes=len({charts.lane_of(row) for row in reported})))
    if lanes > style.MOST_ROWS:
        said.append(say("breakers_note.cut_lanes", shown=style.MOST_ROWS, lanes=lanes))
    if any(piece.count > 1 for piece in pieces):
        said.append(say("breakers_note.joined", gap=charts.duration(gap.total_seconds())))
    return " ".join(said)


def summary(view: View, filters: Filters) -> None:
    """One row a partner and node."""
    result = data.table(view.snapshot, "breaker_nodes", filters)
    rows = [told(row) for row in sorted(result.rows, key=lambda row: (-row["opens"], row["partner"]))]
    hidden = () if any(row["unknown_s"] for row in result.rows) else ("unknown_for",)
    panel.table(
        view,
        "breaker_summary",
        result,
        rows,
        columns=[name for name in COLUMNS if name not in hidden],
        metrics=(
            "breakers.open_nodes",
            "breakers.time_open",
            "breakers.probes",
            "breakers.probe_success",
            "breakers.recoveries",
            "breakers.time_to_recover",
            "breakers.blocked",
            "breakers.failures",
        ),
        note=open_partners(result.rows),
    )


def told(row: Row) -> Row:
    """A row of the summary as it reads best: durations in words, the partner's open nodes of all its nodes."""
    recovered: str | None = None
    if row["recoveries"]:
        median = charts.duration(row["recover_p50_s"])
        recovered = tell("breakers_note.recovered", median=median, n=row["recoveries"])
    elif not row["opens"]:
        recovered = tell("breakers_note.never_opened")
    answered = tell(
        "breakers_note.probes" if row["probes"] else "breakers_note.no_probes",
        share=style.percent(row["probe_success"]),
        n=row["probes_judged"],
    )
    return (
        row
        | {column: charts.duration(row[seconds]) for seconds, column in SPANS.items()}
        | {
            "state_now": title("state", row["state_now"]),
            "open_nodes": tell("breakers_note.of_nodes", open=row["open_nodes"], nodes=row["nodes"]),
            "probes_answered": answered,
            "time_to_recover": recovered,
        }
    )


def open_partners(rows: Sequence[Row]) -> str:
    """Names the partners whose breaker is open now, each with on how many of its nodes."""
    found = {row["partner"]: row for row in rows if row["open_nodes"]}
    if not found:
        return say("breakers_note.none_open") if rows else ""
    named = sorted(found.values(), key=lambda row: (-row["open_nodes"], row["partner"]))[:MOST_NAMED]
    parts = [
        say("breakers_note.open_on", partner=row["partner"], open=row["open_nodes"], nodes=row["nodes"])
        for row in named
    ]
    if len(found) > len(named):
        parts.append(say("breakers_note.more_open", n=len(found) - len(named)))
    return say("breakers_note.open_now") + " " + " · ".join(parts)
