"""What happened, counted by those to whom it happened, in the shape of the result tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot, open_snapshot
from ingest.load import ingest
from ingest.options import Options

ANSWERS = {"no_bid", "answered_unknown"}
#: What a partner does by its script, as an outcome; a torn body is told apart only by those who see the body.
OUTCOMES = {
    "200": "answered_unknown",
    "204": "no_bid",
    "reset": "reset",
    "close": "reset",
    "stall": "timeout",
    "torn": "reset",
    "429": "rate_limited",
}


@dataclass(frozen=True)
class Call:
    """One call: its partner, and the outcome of each attempt in their order."""

    partner: str
    outcomes: Sequence[str]

    @property
    def sent(self) -> list[str]:
        """Outcomes of the attempts that were sent."""
        return [outcome for outcome in self.outcomes if not outcome.startswith("not_sent")]


def outcome_of(did: str) -> str:
    """The outcome of what a partner did."""
    step = did.partition(":")[0]
    return OUTCOMES.get(step) or {"4": "client_error", "5": "server_error"}[step[0]]


def outcomes(calls: Iterable[Call]) -> Counter[tuple[str, str]]:
    """The table `outcomes`."""
    return Counter((call.partner, outcome) for call in calls for outcome in call.outcomes)


def call_counts(calls: Sequence[Call]) -> dict[str, dict[str, int | float | None]]:
    """The table `calls` by partner; cancelled attempts only as originals that nobody repeated."""
    return {
        partner: _counts([call for call in calls if call.partner == partner])
        for partner in sorted({call.partner for call in calls})
    }


def _counts(calls: Sequence[Call]) -> dict[str, int | float | None]:
    sent = [call.sent for call in calls if call.sent]
    attempts = [outcome for outcomes in sent for outcome in outcomes]
    judged = [outcome for outcome in attempts if outcome != "cancelled"]
    judged_calls = [outcomes for outcomes in sent if outcomes != ["cancelled"]]
    retried = [outcomes for outcomes in sent if len(outcomes) > 1]
    return {
        "calls": len(calls),
        "calls_sent": len(sent),
        "attempts_sent": len(attempts),
        "not_sent": sum(len(call.outcomes) - len(call.sent) for call in calls),
        "retries": len(attempts) - len(sent),
        "retried": len(retried),
        "recovered": sum(o[0] not in ANSWERS and any(later in ANSWERS for later in o[1:]) for o in retried),
        "actual_success": _rate(sum(outcome in ANSWERS for outcome in judged), len(judged)),
        "effective_success": _rate(sum(any(one in ANSWERS for one in o) for o in judged_calls), len(judged_calls)),
        "amplification": _rate(len(attempts), len(sent)),
    }


def _rate(count: int, of: int) -> float | None:
    return count / of if of else None


def retry_counts(calls: Iterable[Call]) -> dict[tuple[str, str, int], tuple[int, int]]:
    """The table `retries`: partner, trigger and retry number -> retries and successes."""
    retries: Counter[tuple[str, str, int]] = Counter()
    successes: Counter[tuple[str, str, int]] = Counter()
    for call in calls:
        for number, (trigger, outcome) in enumerate(pairwise(call.sent), start=1):
            key = call.partner, trigger, number
            retries[key] += 1
            successes[key] += trigger not in ANSWERS and outcome in ANSWERS
    return {key: (count, successes[key]) for key, count in retries.items()}


class Shown:
    """What RetryLens shows of logs, and of nothing but logs."""

    def __init__(self, warehouse: Path, log: Path, zone: str | None = None) -> None:
        (self.report,) = ingest([str(log)], warehouse, Options(zone=zone)).files
        self.snapshot: Snapshot = open_snapshot(warehouse)

    def rows(self, table: str, **filters: Any) -> list[dict[str, Any]]:
        """The rows of a result table."""
        return tables.rows(self.snapshot, table, Filters(**filters))

    def outcomes(self) -> Counter[tuple[str, str]]:
        """The table `outcomes`."""
        return Counter({(row["partner"], row["outcome"]): row["attempts"] for row in self.rows("outcomes")})

    def calls(self, *columns: str) -> dict[str, dict[str, Any]]:
        """These columns of the table `calls` by partner."""
        return {row["partner"]: {column: row[column] for column in columns} for row in self.rows("calls")}

    def retries(self) -> dict[tuple[str, str, int], tuple[int, int]]:
        """The table `retries`: partner, trigger and retry number -> retries and successes."""
        return {
            (row["partner"], row["trigger"], row["retry_no"]): (row["retries"], row["successes"])
            for row in self.rows("retries")
        }

    def attempts(self, partner: str) -> dict[str, list[str]]:
        """Outcomes of the partner's attempts in their order, by auction."""
        found: dict[str, list[str]] = {}
        for row in self.rows("attempts", partners=(partner,), limit=100_000):
            found.setdefault(row["auction_id"], []).append(row["outcome"])
        return found
