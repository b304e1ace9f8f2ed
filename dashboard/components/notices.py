"""Notices by kind and partner: what was delivered, what came again, and the money they tell."""

from collections.abc import Sequence
from decimal import Decimal

from dashboard.components import data, panel
from dashboard.components.data import Result, Row
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.text import scalar
from dashboard.texts import say, tell

PRICED = ("win", "billing")
"""Kinds of notices whose prices are revenue."""

COUNTS = ("unique", "deliveries", "duplicates", "orphans", "without_price")
METRICS = tuple(f"notices.{name}" for name in (*COUNTS, "revenue"))


def show(view: View, filters: Filters) -> None:
    """One row a kind, partner and currency, with the totals above."""
    result = data.table(view.snapshot, "notices", filters)
    panel.table(
        view,
        "notices",
        result,
        [told(row) for row in result.rows],
        metrics=METRICS,
        note=totals(result) if result.rows else "",
    )


def told(row: Row) -> Row:
    """A row as it reads best: exact money, and what no notice of the kind can tell said in words."""
    if row["kind"] not in PRICED:
        return row | {"revenue": tell("notice.no_money"), "currency": row["currency"] or tell("notice.no_money")}
    return row | {
        "revenue": None if row["revenue"] is None else scalar(row["revenue"]),
        "currency": row["currency"] or tell("notice.no_currency"),
    }


def totals(result: Result) -> str:
    """Counts over all rows, and revenue by kind and currency: neither kinds nor currencies are added up."""
    parts = [say("notice.counts", **{name: result.total(name) for name in COUNTS})]
    for kind in PRICED:
        amounts = by_currency(result.of(kind=kind))
        if amounts:
            said = "; ".join(say("notice.amount", currency=name, amount=scalar(sum_)) for name, sum_ in amounts.items())
            parts.append(f"{say(f'notice.revenue_{kind}')} {said}.")
    return " ".join(parts)


def by_currency(rows: Sequence[Row]) -> dict[str, Decimal]:
    """Known revenue by currency."""
    found: dict[str, Decimal] = {}
    for row in rows:
        if row["currency"] is not None and row["revenue"] is not None:
            found[row["currency"]] = found.get(row["currency"], Decimal(0)) + Decimal(str(row["revenue"]))
    return dict(sorted(found.items()))
