"""What retries earn and what they cost, in figures."""

from dashboard.charts import style
from dashboard.charts.breakers import duration
from dashboard.components import call_tiles, data, hidden, tiles
from dashboard.components.buckets import Trend
from dashboard.components.compare import Amount
from dashboard.components.data import Result, Row
from dashboard.components.retries import of
from dashboard.components.shapes import Only, Sum
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.texts import tell

TRIED = (
    "retries",
    "successes",
    "bids",
    ("told", "sum(retries) filter (bids is not null)::bigint"),
    ("wasted", "sum(retries - successes)::bigint"),
)
"""Sums of the table `retries`; `told` are those of which it is known whether they brought a bid."""


def headline(view: View, stream: str) -> None:
    """A tile for each figure of one stream, with its change."""
    tiles.compared(view, view.filters, lambda own, filters: figures(own, filters, stream))
    hidden.note(view, view.filters, stream)


def figures(view: View, filters: Filters, stream: str) -> list[Tile]:
    """The tiles; only the exchange has deadlines and bids."""
    only, sums = Only(of(stream)), Sum((), TRIED, of(stream))
    calls, tried = Trend(view, "figures", filters, only), Trend(view, "retries", filters, sums)
    now = data.table(view.snapshot, "figures", filters, shape=only)
    row = now.rows[0] if now.rows else dict.fromkeys(now.columns)
    whole = data.table(view.snapshot, "retries", filters, shape=sums)
    exchange = stream == "exchange"
    return [
        call_tiles.retry_success(row, whole, tried),
        *([bid_rate(row, whole, tried)] if exchange else []),
        call_tiles.recovered(row, calls),
        wasted(view, filters, stream, row, tried),
        *([late(row, calls)] if exchange else []),
        call_tiles.effective(row, calls),
        call_tiles.actual(row, calls),
        call_tiles.amplification(row, calls),
    ]


def bid_rate(row: Row, whole: Result, tried: Trend) -> Tile:
    """How many retries bring a bid, of those that tell; unknown where calls hide theirs."""
    return tiles.rate(
        "bid_rate",
        None if row.get("hidden") else whole.total("bids"),
        whole.total("told"),
        metric="retries.bid_rate",
        unit=tell("unit.retries"),
        trend=tried.line("bids", "told"),
    )


def wasted(view: View, filters: Filters, stream: str, row: Row, tried: Trend) -> Tile:
    """Retries in vain with the time they took; unknown where retries were made of which no outcome is told."""
    found = data.table(view.snapshot, "wasted_retries", filters, shape=Only(of(stream))).rows
    cost = found[0] if found else {"retries": 0, "wasted": 0 if row["retries"] == 0 else None, "wasted_ms": None}
    if row.get("hidden"):
        cost = cost | {"retries": row["retries"], "wasted": None, "wasted_ms": None}
    took = 0 if cost["wasted"] == 0 else cost["wasted_ms"]
    return Tile(
        "wasted",
        style.short(cost["wasted"]),
        metric="retries.wasted",
        n=cost["retries"],
        unit=tell("unit.retries"),
        trend=tried.line("wasted", "retries"),
        note=tell("tile.wasted_note", n=style.short(cost["retries"]), took=span(took)),
        amount=Amount("count", cost["wasted"], events=True),
    )


def span(ms: float | None) -> str:
    """Milliseconds as people say a time span."""
    return style.unknown() if ms is None else duration(ms / 1000)


def late(row: Row, calls: Trend) -> Tile:
    """Retries that ended after the deadline, of those that could be judged."""
    judged = row["late_checked"] or 0
    share = style.percent(style.ratio(row["late_retries"], judged))
    return Tile(
        "late",
        style.short(row["late_retries"]),
        metric="calls.late_retries",
        n=judged,
        unit=tell("unit.judged"),
        trend=calls.line("late_retries", "late_checked"),
        note=tell("tile.late_note" if judged else "tile.none_judged", share=share, n=style.short(judged)),
        amount=Amount("count", row["late_retries"]),
    )
