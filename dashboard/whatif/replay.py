"""Replaying a range of the log under a policy: what it sends less, and what that would have cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.whatif import statement
from dashboard.whatif.breaker import block
from dashboard.whatif.policy import Policy

Row = dict[str, Any]

COUNTS = (
    "calls",
    "calls_hidden",
    "calls_sent",
    "calls_unsent",
    "calls_cut",
    "attempts_before",
    "attempts_saved",
    "answered_before",
    "answered_lost",
    "judged_before",
    "judged_lost",
    "wins_lost",
    "late_judged",
    "unjudged",
)
"""Figures that add up and are always known."""

PARTLY = ("ms_saved", "late_saved")
"""Sums of what is known of the attempts saved; unknown where none of it is."""

BREAKER = ("blocked", "opened")
"""Figures of the policy's breaker; unknown without one."""


NOTHING: Row = {
    "attempts_saved": 0,
    "ms_saved": 0,
    "late_saved": 0,
    "bids_lost": 0,
    "revenue_lost": {},
    "blocked": 0,
    "opened": 0,
}
"""What a breaker removes that never opened."""


@dataclass(frozen=True)
class Replay:
    """`totals` and `partners` are exact: they only tell what is removed. `triggers`: the retries that the policy
    removes, by what they repeat. `estimate`, `estimates`: what added retries might bring, together and one by one.
    """

    totals: Row
    partners: list[Row]
    triggers: list[Row]
    estimate: Row
    estimates: list[Row]


def replay(snapshot: Snapshot, policy: Policy, filters: Filters) -> Replay:
    """What the calls of a range would have been under a policy."""
    found = statement.rows(snapshot, "partners", policy, filters)
    sums = {row["partner"]: row for row in found}
    if policy.breaks:
        blocked = block(snapshot, policy, filters)
        sums = {name: _with_breaker(name, row, policy, blocked) for name, row in sums.items()}
    estimates = statement.rows(snapshot, "estimate", policy, filters)
    unknown = {} if _tells_wins(snapshot) else {"wins_lost": None, "revenue_lost": None}
    return Replay(
        totals=figures(added(list(sums.values()))) | unknown,
        partners=[{"partner": name} | figures(row) | unknown for name, row in sums.items()],
        triggers=[row | unknown for row in statement.rows(snapshot, "triggers", policy, filters)],
        estimate=estimated(estimates),
        estimates=estimates,
    )


def _tells_wins(snapshot: Snapshot) -> bool:
    """Whether the whole data has any evidence of wins: without it none is known to be lost."""
    return any(snapshot.evidence.get(name, False) for name in ("win", "winner", "loss"))


def _with_breaker(partner: str, row: Row, policy: Policy, blocked: Sequence[tuple[str, Row]]) -> Row:
    """The sums of a partner less what its breaker removes; a partner without one knows nothing of it."""
    if policy.of(partner).breaker is None:
        return row
    stopped = added([NOTHING, *(part for name, part in blocked if name == partner)])
    if row["bids_lost"] is None or (stopped["attempts_saved"] and row["blind"]):
        stopped["bids_lost"] = None
    return added([row, stopped])


def added(rows: Sequence[Row]) -> Row:
    """Rows of sums as one: what a row lacks is none, what it does not know stays unknown."""
    told: Row = {name: sum(row.get(name, 0) for row in rows) for name in COUNTS}
    for name in PARTLY:
        told[name] = known_sum((row["attempts_saved"], row[name]) for row in rows)
    for name in BREAKER:
        known = [row[name] for row in rows if row.get(name) is not None]
        told[name] = sum(known) if known else None
    bids = [row["bids_lost"] for row in rows]
    told["bids_lost"] = None if None in bids else sum(bids)
    told["revenue_lost"] = add_money(row["revenue_lost"] for row in rows)
    return told


def figures(sums: Row) -> Row:
    """What is shown of a row of sums: before, after and what lies between."""
    sums = added([sums])
    attempts_after = sums["attempts_before"] - sums["attempts_saved"]
    sent_after = sums["calls_sent"] - sums["calls_unsent"]
    answered_after = sums["answered_before"] - sums["answered_lost"]
    judged_after = sums["judged_before"] - sums["judged_lost"]
    return {
        "calls": sums["calls"],
        "calls_hidden": sums["calls_hidden"],
        "calls_sent_before": sums["calls_sent"],
        "calls_sent_after": sent_after,
        "attempts_before": sums["attempts_before"],
        "attempts_after": attempts_after,
        "attempts_saved": sums["attempts_saved"],
        "ms_saved": sums["ms_saved"],
        "calls_cut": sums["calls_cut"],
        "amplification_before": ratio(sums["attempts_before"], sums["calls_sent"]),
        "amplification_after": ratio(attempts_after, sent_after),
        "effective_success_before": ratio(sums["answered_before"], sums["judged_before"]),
        "effective_success_after": ratio(answered_after, judged_after),
        "answered_lost": sums["answered_lost"],
        "bids_lost": sums["bids_lost"],
        "wins_lost": sums["wins_lost"],
        "revenue_lost": sums["revenue_lost"],
        "late_saved": sums["late_saved"],
        "late_judged": sums["late_judged"],
        "unjudged": sums["unjudged"],
        "blocked": sums["blocked"],
        "opened": sums["opened"],
    }


def estimated(rows: Sequence[Row]) -> Row:
    """The estimate over all partners and triggers. What was never retried there is counted apart: its success is
    unknown, not 0. The ends of the intervals are added, which is at least as wide as an interval of the sum.
    """
    known = [row for row in rows if row["observed"]]
    bidding = [row for row in known if row["bids"] is not None]
    told: Row = {
        "label": "estimate",
        "added": sum(row["added"] for row in rows),
        "added_known": sum(row["added"] for row in known),
        "added_unknown": sum(row["added"] for row in rows if not row["observed"]),
        "unjudged": sum(row["unjudged"] for row in rows),
    }
    for name, of in (("successes", known), ("bids", bidding if len(bidding) == len(known) else [])):
        for end in ("", "_low", "_high"):
            told[name + end] = sum(row[name + end] for row in of) if of or not rows else None
    return told


def known_sum(parts: Iterable[tuple[int, Any]]) -> Any:
    """The sum of what is known of (how many, what they have); None where there are some and nothing is known."""
    every = list(parts)
    known = [value for count, value in every if count and value is not None]
    return sum(known) if known or not any(count for count, _ in every) else None


def add_money(parts: Iterable[dict[str, Decimal]]) -> dict[str, Decimal]:
    """Amounts added by currency, never across."""
    told: dict[str, Decimal] = {}
    for part in parts:
        for currency, amount in part.items():
            told[currency] = told.get(currency, Decimal(0)) + amount
    return dict(sorted(told.items()))


def ratio(part: int, whole: int) -> float | None:
    """part / whole; None where there is no whole."""
    return part / whole if whole else None
