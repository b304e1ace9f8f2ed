"""Breaker states over time: a lane for each partner and node, one for what was expected; healthy time is drawn too."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import plotly.graph_objects as go

from dashboard import languages
from dashboard.charts import style
from dashboard.charts.style import Row, Rows
from dashboard.charts.timeline import dates, pattern
from dashboard.escape import plain, plotly
from dashboard.texts import tell

STATES = {
    "closed": (style.GREEN, "", 0.30),
    "half_open": (style.YELLOW, "/", 0.42),
    "open": (style.RED, "", 0.62),
    "unknown": (style.GREY, ".", 0.30),
}
"""State -> colour, pattern, height of its bar in the lane: an open lane is also taller."""


GAP_SHARE = 500
"""Intervals of a lane and state are one bar where less than this part of the range lies between them: some pixels."""

MOST_BARS = 4_000
"""Where a chart would have more bars, wider gaps are bridged."""


@dataclass(frozen=True)
class Piece:
    """Intervals of a lane and state that are drawn as one bar: how many, and how long they lasted together."""

    lane: "Lane"
    state: str
    start: datetime
    end: datetime
    count: int
    seconds: float
    attempts: int | None
    blocked: int | None


def fitting(rows: Rows, start: datetime, end: datetime) -> tuple[list[Piece], timedelta]:
    """As many bars as a chart can hold, and the gap that they bridge."""
    gap = narrowest(start, end)
    found = pieces(rows, start, end, gap)
    while len(found) > MOST_BARS and gap <= end - start:
        gap *= 2
        found = pieces(rows, start, end, gap)
    return found, gap


def narrowest(start: datetime, end: datetime) -> timedelta:
    """The gap that even a chart of few bars bridges."""
    return max(end - start, timedelta(microseconds=GAP_SHARE)) // GAP_SHARE


def pieces(rows: Rows, start: datetime, end: datetime, gap: timedelta) -> list[Piece]:
    """Intervals of the table `breakers` between start and end, as bars; one whose `to` is None runs to the end.

    A row may stand for several already: `intervals` tells how many, `seconds` how long they last. Of lanes beyond those
    that a chart can hold there are none.
    """
    shown = set(lanes_of(rows))
    last: dict[tuple[Lane, str], int] = {}
    found: list[Piece] = []
    for row in sorted(rows, key=lambda row: row["from"]):
        lane, left, right = lane_of(row), max(row["from"], start), min(row["to"] or end, end)
        if lane not in shown or left >= right:
            continue
        times, lasted = row.get("intervals", 1), row.get("seconds", (right - left).total_seconds())
        piece = Piece(lane, row["state"], left, right, times, lasted, row["attempts"], row["blocked"])
        place = last.get((lane, row["state"]))
        if place is not None and left - found[place].end < gap:
            found[place] = joined(found[place], piece)
        else:
            last[lane, row["state"]] = len(found)
            found.append(piece)
    return found


def joined(first: Piece, more: Piece) -> Piece:
    """Two as one; a count that one of them does not know is unknown."""
    attempts, blocked = (
        None if one is None or other is None else one + other
        for one, other in ((first.attempts, more.attempts), (first.blocked, more.blocked))
    )
    return Piece(
        first.lane,
        first.state,
        first.start,
        max(first.end, more.end),
        first.count + more.count,
        first.seconds + more.seconds,
        attempts,
        blocked,
    )


def timeline(shown: Sequence[Piece], start: datetime, end: datetime, names: dict[str, str]) -> go.Figure:
    """Bars between start and end, all in one zone's time.

    An opening also gets a mark at its begin, so that one too short for a pixel is still seen.
    """
    lanes = ordered(shown)
    place = {lane: index for index, lane in enumerate(lanes)}
    figure = go.Figure()
    for state, (colour, shape, height) in STATES.items():
        parts = [piece for piece in shown if piece.state == state]
        if not parts:
            continue
        figure.add_bar(
            base=[piece.start for piece in parts],
            x=[(piece.end - piece.start).total_seconds() * 1000 for piece in parts],
            y=[place[piece.lane] for piece in parts],
            width=[height] * len(parts),
            orientation="h",
            name=names.get(state, state),
            marker={"color": colour, "line": {"width": 0}, "pattern": pattern(shape)},
            customdata=[(plotly(lane_name(piece.lane)), when(piece), sent(piece)) for piece in parts],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]}",
        )
        if state == "open":
            mark_openings(figure, [(place[piece.lane], piece.start) for piece in parts], colour)
    style.frame(figure, style.rows_height(len(lanes), row=34) + 14)
    figure.update_layout(barmode="overlay")
    style.category_rows(figure, [lane_name(lane) for lane in lanes])
    figure.update_xaxes(range=[start, end])
    return dates(figure)


def when(piece: Piece) -> str:
    """Since when and for how long; of several how often between which moments, and how long together."""
    form = f"{languages.current().day} %H:%M:%S"
    moment, lasted = f"{piece.start:{form}}", duration(piece.seconds)
    if piece.count == 1:
        return tell("chart.lane", moment=moment, lasted=lasted)
    return tell("chart.lane_times", n=piece.count, moment=moment, end=f"{piece.end:{form}}", lasted=lasted)


def sent(piece: Piece) -> str:
    """What was sent and blocked meanwhile."""
    key = "chart.lane_expected" if piece.lane[1] == "expected" else "chart.lane_sent"
    return tell(key, attempts=piece.attempts, blocked=piece.blocked)


def mark_openings(figure: go.Figure, points: Sequence[tuple[int, datetime]], colour: str) -> None:
    """A small triangle above the begin of each open interval."""
    figure.add_scatter(
        x=[left for _, left in points],
        y=[lane - 0.4 for lane, _ in points],
        mode="markers",
        marker={"symbol": "triangle-down", "size": 7, "color": colour},
        showlegend=False,
        hoverinfo="skip",
    )


Lane = tuple[str, str, str | None]
"""Partner, kind (reported or expected), node."""


def lane_of(row: Row) -> Lane:
    """The lane of an interval."""
    return row["partner"], row["kind"], row["node"]


def lanes_of(rows: Rows) -> list[Lane]:
    """The lanes, those of the partner with the most openings first; each begins with what was expected of it.

    Cut at what a chart can hold.
    """
    opens: Counter[str] = Counter()
    for row in rows:
        opens[row["partner"]] += row.get("intervals", 1) if row["state"] == "open" else 0
    return ranked({lane_of(row) for row in rows}, opens)[: style.MOST_ROWS]


def ordered(shown: Sequence[Piece]) -> list[Lane]:
    """The lanes of bars, in the same order."""
    opens: Counter[str] = Counter()
    for piece in shown:
        opens[piece.lane[0]] += piece.count if piece.state == "open" else 0
    return ranked({piece.lane for piece in shown}, opens)


def ranked(lanes: Iterable[Lane], opens: Mapping[str, int]) -> list[Lane]:
    """Lanes by how often their partner opened."""
    return sorted(lanes, key=lambda lane: (-opens[lane[0]], lane[0], lane[1], lane[2] or ""))


def lane_name(lane: Lane) -> str:
    """partner · node, or the partner alone where no node is told; the lane of the reference says so."""
    partner, kind, node = lane
    if kind == "expected":
        return tell("chart.expected", partner=plain(partner))
    return f"{plain(partner)} · {plain(node)}" if node else plain(partner)


def duration(seconds: float) -> str:
    """A time span as people say it: 20.0 ms, 41 s, 12.0 min, 3.5 h, 2.1 days; none at all is 0 s."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return tell(f"shape.{unit}", value=style.number(seconds / size, ".1f"))
    if 0 < seconds < 1:
        return tell("shape.ms", value=style.number(seconds * 1000, ".1f"))
    return tell("shape.s", value=style.number(seconds, ".1f" if 0 < seconds < 10 else ".0f"))
