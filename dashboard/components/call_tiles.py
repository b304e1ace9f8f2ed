"""The figures of calls as tiles: the same tile wherever a page shows one of them."""

from dashboard.charts import style
from dashboard.components import tiles
from dashboard.components.buckets import Trend
from dashboard.components.compare import Amount
from dashboard.components.data import Result, Row
from dashboard.components.tiles import Tile
from dashboard.texts import tell


def calls(row: Row, series: Trend) -> Tile:
    """How many calls there were, and what they took in attempts."""
    return Tile(
        "calls",
        "0" if row["calls"] is None else style.short(row["calls"]),
        metric="calls.calls",
        n=row["calls"] or 0,
        unit=tell("unit.calls"),
        trend=series.line("calls"),
        chart="bar",
        note=tell("tile.attempts", n=style.short(row["attempts_sent"] if row["calls"] else 0)),
        amount=Amount("count", row["calls"] or 0),
    )


def effective(row: Row, series: Trend) -> Tile:
    """Answered calls of those that count."""
    return tiles.rate(
        "effective",
        row["answered_calls"],
        row["judged_calls"],
        metric="calls.effective_success",
        unit=tell("unit.calls"),
        trend=series.line("answered_calls", "judged_calls"),
    )


def actual(row: Row, series: Trend) -> Tile:
    """Answered attempts of those that count."""
    return tiles.rate(
        "actual",
        row["answered_attempts"],
        row["judged_attempts"],
        metric="calls.actual_success",
        unit=tell("unit.attempts"),
        trend=series.line("answered_attempts", "judged_attempts"),
    )


def amplification(row: Row, series: Trend) -> Tile:
    """Attempts for each call that was sent."""
    amplified = style.ratio(row["attempts_sent"], row["calls_sent"])
    return Tile(
        "amplification",
        style.number(amplified, ".3f"),
        metric="calls.amplification",
        n=row["calls_sent"],
        unit=tell("unit.calls"),
        trend=series.line("attempts_sent", "calls_sent"),
        amount=Amount("ratio", amplified, row["attempts_sent"], row["calls_sent"]),
    )


def recovered(row: Row, series: Trend) -> Tile:
    """Retried calls that ended better than they began."""
    return tiles.rate(
        "recovered",
        row["recovered"],
        row["retried"],
        metric="calls.recovered_share",
        unit=tell("unit.retried"),
        trend=series.line("recovered", "retried"),
    )


def retry_success(row: Row, told: Result, tried: Trend) -> Tile:
    """Retries that ended better than their trigger; unknown where calls of the row hide theirs."""
    return tiles.rate(
        "retry_success",
        None if row.get("hidden") else told.total("successes"),
        told.total("retries"),
        metric="retries.success_rate",
        unit=tell("unit.retries"),
        trend=tried.line("successes", "retries"),
    )
