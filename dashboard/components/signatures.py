"""Signed requests: stale and replayed ones, and how far the senders' clocks are off."""

from dataclasses import replace

from dashboard.charts import senders as charts
from dashboard.components import data, grid, panel
from dashboard.components.data import Result
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.texts import say, tell, title

FIGURES = ("requests", "stale", "replayed", "skew_p50_s", "skew_p99_s")
METRICS = tuple(f"signatures.{name}" for name in FIGURES)


def skews(view: View, filters: Filters) -> None:
    """The skew of each key."""
    result = data.table(view.snapshot, "signatures", filters)
    known = [row for row in result.rows if row["skew_p50_s"] is not None]
    known.sort(key=lambda row: (-row["skew_p99_s"], row["key"] or ""))
    panel.chart(
        view,
        "signature_skew",
        result,
        lambda: charts.skews(known),
        metrics=("signatures.skew_p50_s", "signatures.skew_p99_s"),
        n=sum(row["requests"] for row in known),
        unit=tell("unit.postbacks"),
        note=say("panel.cut", shown=charts.MOST, rows=len(known)) if len(known) > charts.MOST else "",
        empty=not known,
        absent="signatures.no_times" if result.rows else "",
    )


def keys(view: View, filters: Filters) -> None:
    """Stale and replayed requests by key; a click on a key opens them."""
    result = data.table(view.snapshot, "signatures", filters)
    rows = sorted(result.rows, key=lambda row: (-((row["stale"] or 0) + (row["replayed"] or 0)), row["key"] or ""))
    chosen: list[int] = []
    panel.table(
        view,
        "signatures",
        result,
        rows,
        metrics=METRICS,
        note=note(result),
        on_select=chosen.append,
    )
    if chosen and rows[chosen[0]]["key"] is not None:
        behind(view, rows[chosen[0]]["key"])


def note(result: Result) -> str:
    """How many requests were stale or replayed; what the log cannot tell is unknown, not none."""
    if not result.rows:
        return ""
    parts = []
    for name in ("stale", "replayed"):
        unknown = all(row[name] is None for row in result.rows)
        parts.append(say(f"signatures.{name}_unknown") if unknown else say(f"signatures.{name}", n=result.total(name)))
    return " ".join(parts)


def behind(view: View, key: str) -> None:
    """The newest stale and replayed postbacks of a key."""
    result = data.table(view.snapshot, "signature_postbacks", replace(view.filters, partners=(), key=key))
    rows = [row | {"outcome": title("postback", row["outcome"])} for row in result.rows]
    panel.table(view, "signature_postbacks", result, rows, absent=grid.ABSENT)
