"""How full the fixed windows of the postback limits got, and which went over."""

from datetime import UTC

from dashboard.charts import style, timeline
from dashboard.charts import windows as charts
from dashboard.components import buckets, data, grid, panel, tiles, timechart
from dashboard.components.data import Result, Row
from dashboard.components.shapes import Only, Sum
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.filters import Filters, epoch_us
from dashboard.tables.context import equals
from dashboard.texts import say, tell, title

FULLEST = (
    ("requests", "arg_max(requests, utilisation)"),
    ("limit", 'arg_max("limit", utilisation)'),
)
"""Requests and limit of the window that was used most."""

BY_KEY = Sum(
    ("key", "endpoint"),
    (
        ("windows", "count(*)::bigint"),
        ("over", 'count(*) filter (requests > "limit" and utilisation is not null)::bigint'),
        ("utilisation", "max(utilisation)"),
        *FULLEST,
    ),
)
COLUMNS = ("over", "key", "endpoint", "window_start", "window_s", "requests", "limited", "limit", "used")


def tile(view: View, filters: Filters) -> Tile:
    """Windows in which more came than the limit allows."""
    limited = [row for row in by_key(view, filters).rows if row["utilisation"] is not None]
    return tiles.rate(
        "over_limit",
        sum(row["over"] for row in limited),
        sum(row["windows"] for row in limited),
        metric="windows.over_limit",
        unit=tell("unit.windows"),
        events=True,
    )


def by_key(view: View, filters: Filters) -> Result:
    """The fullest window of each key and endpoint."""
    return data.table(view.snapshot, "windows", filters, shape=BY_KEY)


def fullest_first(rows: list[Row]) -> list[Row]:
    """Rows with a utilisation, the highest first."""
    known = [row for row in rows if row["utilisation"] is not None]
    return sorted(known, key=lambda row: (-row["utilisation"], row["key"] or "", row["endpoint"] or ""))


def peaks(view: View, filters: Filters) -> None:
    """The fullest window of each key against its limit."""
    result = by_key(view, filters)
    rows = fullest_first(result.rows)
    notes = [
        say("windows.unlimited", keys=len(result.rows) - len(rows)) if rows and len(result.rows) > len(rows) else "",
        say("panel.cut", shown=charts.MOST, rows=len(rows)) if len(rows) > charts.MOST else "",
    ]
    panel.chart(
        view,
        "window_peaks",
        result,
        lambda: charts.peaks(rows),
        metrics=("windows.utilisation", "windows.limit"),
        n=sum(row["windows"] for row in rows),
        unit=tell("unit.windows"),
        note=" ".join(note for note in notes if note),
        empty=not rows,
        absent="windows.no_limits" if result.rows else "",
    )


def over_time(view: View, filters: Filters) -> None:
    """The fullest window of each bucket, of the keys that came closest to their limit."""
    known = "utilisation is not null"
    series = buckets.series(view, "windows", filters=filters, shape=Sum(("key", "endpoint"), FULLEST, known))
    names = [charts.name(row) for row in fullest_first(by_key(view, filters).rows)]
    timechart.show(
        view,
        filters,
        "window_time",
        series.result,
        lambda: timeline.rates(
            series.times,
            series.rates(charts.name, "requests", "limit", names=names[: buckets.MOST_LINES]),
            unit=tell("unit.window_requests"),
            budgets={tell("windows.limit"): 1.0},
        ),
        metrics=("windows.utilisation",),
        n=len(series.result.rows),
        unit=tell("unit.windows"),
        note=say("panel.cut", shown=buckets.MOST_LINES, rows=len(names)) if len(names) > buckets.MOST_LINES else "",
    )


def fullest(view: View, filters: Filters) -> None:
    """Single windows, those over their limit first; a click on one opens its requests."""
    result = data.table(view.snapshot, "window_fullest", filters)
    chosen: list[int] = []
    rows = [
        row
        | {
            "over": tell("windows.over" if row["utilisation"] > 1 else "windows.within"),
            "used": style.percent(row["utilisation"]),
        }
        for row in result.rows
    ]
    panel.table(
        view,
        "window_fullest",
        result,
        rows,
        columns=COLUMNS,
        metrics=("windows.requests", "windows.limited", "windows.limit", "windows.utilisation"),
        note=note(result.rows),
        on_select=chosen.append,
    )
    if chosen:
        requests(view, result.rows[chosen[0]])


def note(rows: list[Row]) -> str:
    """How many of the listed windows went over, and whether the log tells any limit."""
    if not rows:
        return ""
    over = sum(row["utilisation"] > 1 for row in rows)
    parts = [say("windows.some_over", over=over, rows=len(rows)) if over else say("windows.none_over", rows=len(rows))]
    if not any(row["limit_logged"] for row in rows):
        parts.append(say("windows.not_logged"))
    return " ".join(parts)


def requests(view: View, window: Row) -> None:
    """The postbacks of a key and endpoint in the time of a window."""
    start = epoch_us(window["window_start"].replace(tzinfo=UTC))
    result = data.table(
        view.snapshot,
        "window_postbacks",
        Filters(start, start + window["window_s"] * 1_000_000, zone=view.filters.zone),
        shape=Only(f"{equals('key', window['key'])} and {equals('endpoint', window['endpoint'])}"),
    )
    rows = [row | {"outcome": title("postback", row["outcome"])} for row in result.rows]
    panel.table(view, "window_postbacks", result, rows, absent=grid.ABSENT)
