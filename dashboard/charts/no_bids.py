"""Why partners did not bid: codes in their ranges, and the classes that decide who acts."""

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.bars import counts, shares
from dashboard.charts.funnel import readable
from dashboard.charts.style import Rows
from dashboard.texts import tell

CLASSES = {
    "technical": (style.RED, ""),
    "request": (style.ORANGE, ""),
    "traffic": (style.PURPLE, ""),
    "property": (style.BLUE, ""),
    "cap": (style.SKY, ""),
    "authorization": (style.YELLOW, ""),
    "time": (style.GREEN, ""),
    "supply_chain": (style.BLUE, "/"),
    "reserved": (style.PURPLE, "/"),
    "exchange": (style.ORANGE, "/"),
    "invalid": (style.RED, "x"),
    "none": (style.GREY, ""),
    "unknown": (style.GREY, "."),
}
"""Class of a no-bid reason -> colour, pattern."""


def colours() -> dict[str, str]:
    """Title of a class -> its colour."""
    return {readable(name): colour for name, (colour, _) in CLASSES.items()}


def patterns() -> dict[str, str]:
    """Title of a class -> its pattern."""
    return {readable(name): shape for name, (_, shape) in CLASSES.items()}


def reasons(rows: Rows) -> go.Figure:
    """One bar a reason, from rows with reason, name, class and no_bids; the class is written beside the count."""
    total = sum(row["no_bids"] for row in rows)
    shown = sorted(rows, key=lambda row: (-row["no_bids"], str(row["reason"])))[: style.MOST_ROWS]
    return counts(
        [reason_title(str(row["reason"]), row["name"]) for row in shown],
        [row["no_bids"] for row in shown],
        [f"{style.percent(style.ratio(row['no_bids'], total))} · {readable(row['class'])}" for row in shown],
        colours=[CLASSES.get(row["class"], (style.GREY, ""))[0] for row in shown],
        above=True,
    )


def groups(rows: Rows) -> go.Figure:
    """One bar a range group, from rows with grp and no_bids, in the order given."""
    total = sum(row["no_bids"] for row in rows)
    return counts(
        [row["grp"] for row in rows],
        [row["no_bids"] for row in rows],
        [style.percent(style.ratio(row["no_bids"], total)) for row in rows],
    )


def by_partner(rows: Rows) -> go.Figure:
    """Each partner's no-bids split by class, from rows with partner, class and no_bids."""
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["partner"]] = totals.get(row["partner"], 0) + row["no_bids"]
    partners = sorted(totals, key=lambda partner: (-totals[partner], partner))[: style.MOST_ROWS]
    found = {(row["partner"], row["class"]): row["no_bids"] for row in rows}
    present = {row["class"] for row in rows}
    return shares(
        partners,
        {
            readable(name): [found.get((partner, name), 0) for partner in partners]
            for name in CLASSES
            if name in present
        },
        colours=colours(),
        patterns=patterns(),
        unit=tell("unit.no_bids"),
    )


def reason_title(reason: str, name: str | None) -> str:
    """`5 · Cloud, Data Center, or Proxy IP`; a reason without a number is its own title."""
    return f"{reason} · {name}" if name and reason.isdigit() else readable(name or reason)
