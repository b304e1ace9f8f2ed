"""What retries earn, what they cost, and which to switch off."""

from collections.abc import Mapping
from datetime import UTC, datetime

from dashboard.charts import retries as charts
from dashboard.charts import style, timeline
from dashboard.charts.style import Row, Rows
from dashboard.charts.timeline import Parts
from dashboard.components import buckets, data, hidden, once, panel, past, timechart
from dashboard.components.buckets import Series
from dashboard.components.shapes import Only
from dashboard.components.view import View, clock
from dashboard.escape import name_of
from dashboard.filters import Filters, epoch_us
from dashboard.text import scalar
from dashboard.texts import say, tell, title

MARKS = {"never": "✕", "disable": "✕", "watch": "!", "keep": "✓", "too_few": "·"}
FLAG_COLUMNS = (
    "verdict",
    "partner",
    "trigger",
    "retries",
    "successes",
    "upper_bound",
    "last_success",
    "retries_per_day",
    "ms_saved_per_day",
    "bids_at_risk",
    "revenue_at_risk",
)
EXCHANGE_ONLY = ("bids_at_risk", "revenue_at_risk")
"""Postbacks bring no bids: there these columns would say nothing."""


def flags(view: View, filters: Filters, stream: str | None = None) -> None:
    """The verdicts of this moment with their evidence, worst first."""
    result = data.table(view.snapshot, "flags", filters, shape=Only(of(stream)) if stream else None)
    titles = data.reason_titles(view.snapshot)
    rows = [
        row
        | {
            "verdict": f"{MARKS.get(row['verdict'], '')} {title('verdict', row['verdict'])}",
            "trigger": "*" if row["trigger"] == "*" else titles.get(row["trigger"], row["trigger"]),
            "last_success": moment(view, row["last_success"]),
            "revenue_at_risk": money(row["revenue_at_risk"]),
            "retries_per_day": round(row["retries_per_day"], 1),
            "ms_saved_per_day": None if row["ms_saved_per_day"] is None else round(float(row["ms_saved_per_day"])),
        }
        for row in result.rows
    ]
    told = any(row["stream"] == "exchange" for row in result.rows)
    unseen = hidden.find(view, filters, stream or "exchange")
    notes = [verdict_note(result.rows, view.snapshot.settings["flag_days"])] if rows else []
    if rows and unseen is not None:
        notes.append(say(hidden.text("flags_part", stream or "exchange"), hidden=unseen.hidden))
    panel.table(
        view,
        "flags",
        result,
        rows,
        columns=[column for column in FLAG_COLUMNS if told or column not in EXCHANGE_ONLY],
        metrics=("flags.verdict", "flags.upper_bound"),
        note=" ".join(notes),
        empty="" if unseen is None else hidden.text("flags", stream or "exchange"),
    )


def verdict_note(rows: Rows, days: str) -> str:
    """How many retries are to be switched off; roll-ups repeat them, and count only where they alone are bad."""
    bad = [row for row in rows if row["verdict"] in ("never", "disable")]
    single = sum(is_single(row) for row in bad)
    if bad and not single:
        return say("flags.bad_together", sums=len(bad), days=days)
    pairs = sum(is_single(row) for row in rows)
    return say("flags.bad" if bad else "flags.none", bad=single, rows=pairs, days=days)


def is_single(row: Row) -> bool:
    """Whether the row is of one partner and one trigger."""
    return "*" not in (row["partner"], row["trigger"])


def heatmap(view: View, filters: Filters, stream: str) -> None:
    """Success by partner, trigger and retry number."""
    result = data.table(view.snapshot, "retries", filters, shape=Only(of(stream)))
    lines = len({(row["partner"], row["trigger"]) for row in result.rows})
    numbers = len({row["retry_no"] for row in result.rows})
    more = say("retries.per_cent") if numbers > charts.MOST_TOLD else ""
    if numbers > charts.MOST_NUMBERS:
        more += " " + say("retries.numbers", shown=charts.MOST_NUMBERS, numbers=numbers)
    panel.chart(
        view,
        "retry_heatmap",
        result,
        lambda: charts.heatmap(result.rows, data.reason_titles(view.snapshot)),
        metrics=("retries.success_rate",),
        n=result.total("retries"),
        unit=tell("unit.retries"),
        note=f"{panel.cut(lines)} {more}".strip(),
        absent="" if hidden.find(view, filters, stream) is None else hidden.text("retries", stream),
    )


def successes(view: View, stream: str) -> None:
    """Effective against actual success."""
    result = data.table(view.snapshot, "judged_calls", view.filters, shape=Only(of(stream)))
    panel.chart(
        view,
        "effective_actual",
        result,
        lambda: charts.actual_and_effective(result.rows),
        metrics=("calls.effective_success", "calls.actual_success"),
        n=result.total("judged_calls"),
        unit=tell("unit.calls"),
        note=panel.cut(len(result.rows)),
    )


def amplification(view: View, stream: str) -> None:
    """Attempts per call against the budget lines."""
    result = data.table(view.snapshot, "calls", view.filters, shape=Only(of(stream)))
    panel.chart(
        view,
        "amplification",
        result,
        lambda: charts.amplification(result.rows),
        metrics=("calls.amplification",),
        n=result.total("calls_sent"),
        unit=tell("unit.calls"),
        note=panel.cut(len(result.rows)),
    )


def amplification_time(view: View, stream: str) -> None:
    """Amplification over time of the partners where it is highest over the range."""
    series = buckets.series(view, "calls", shape=Only(of(stream)))
    before = past.series(view, "calls", shape=Only(of(stream)))
    names, lines = once.made(view, "amplification_time", series.result, lambda: highest(series))
    timechart.show(
        view,
        view.filters,
        "amplification_time",
        series.result,
        lambda: timeline.rates(
            series.times,
            lines,
            unit=tell("unit.attempts_per_call"),
            as_percent=False,
            budgets={style.number(value, ".2f"): value for value in charts.BUDGETS.values()},
            floor=0.98,
            past=past.lines(view, before, partner, "attempts_sent", "calls_sent", lines),
        ),
        metrics=("calls.amplification",),
        n=series.result.total("calls_sent"),
        unit=tell("unit.calls"),
        note=panel.cut(len(names), buckets.MOST_LINES),
        empty=not names,
        absent=hidden.text("amplification", stream) if hidden.find(view, view.filters, stream) is not None else "",
    )


def highest(series: Series) -> tuple[list[str], Mapping[str, Parts]]:
    """The partners by their amplification, and attempts and calls of the first."""
    names = series.highest(partner, "attempts_sent", "calls_sent")
    return names, series.rates(partner, "attempts_sent", "calls_sent", names=names[: buckets.MOST_LINES])


def partner(row: Row) -> str:
    """Whose line a row belongs to."""
    return name_of(row["partner"])


def fate(view: View, filters: Filters, stream: str) -> None:
    """How calls ended whose original failed."""
    result = data.table(view.snapshot, "fate", filters, shape=Only(of(stream)))
    calls = data.table(view.snapshot, "calls", filters, shape=Only(of(stream))).total("calls")
    unknown = sum(row["calls"] for row in result.of(fate="unknown"))
    panel.chart(
        view,
        "fate",
        result,
        lambda: charts.fate(result.rows),
        metrics=("fate.calls",),
        n=result.total("calls"),
        unit=tell("unit.failed_calls"),
        note=" ".join(
            part
            for part in (
                panel.cut(len({row["partner"] for row in result.rows})),
                say("hidden.fate_part", hidden=unknown) if unknown else "",
            )
            if part
        ),
        absent="" if calls else "retries.no_calls",
    )


def moment(view: View, at: datetime | None) -> str:
    """When a retry last succeeded, in local time; none in the window is known to be none."""
    if at is None:
        return tell("flags.no_success")
    return clock(view.local(epoch_us(at.replace(tzinfo=UTC))))


def money(amounts: Mapping[str, object] | None) -> str | None:
    """Amounts by currency; none is said, unknown stays None."""
    if amounts is None:
        return None
    return "; ".join(f"{currency} {scalar(amount)}" for currency, amount in amounts.items()) or tell("flags.no_money")


def of(stream: str | None) -> str:
    """SQL condition on the stream."""
    return f"stream = '{stream}'"
