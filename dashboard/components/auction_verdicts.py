"""What the audit says of the attempts of one auction: the rules that were broken, kept, and not judged."""

from collections.abc import Sequence

from dashboard.components import audit, data, panel
from dashboard.components.data import Result, Row
from dashboard.components.shapes import Only
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.tables.context import equals
from dashboard.texts import say, tell, title

RULES = {
    "r1_harmful": ("R1", "harmful"),
    "r1_waste": ("R1", "waste"),
    "r2": ("R2", "risk"),
    "r3": ("R3", "waste"),
    "r4": ("R4", "waste"),
    "r5": ("R5", "late"),
    "r6": ("R6", "duplicate"),
    "r7": ("R7", "load"),
    "r8": ("R8", "waste"),
    "r10": ("R10", "load"),
    "r12": ("R12", "late"),
}
"""Column of an attempt -> rule and severity. R9 is about the auction, R11 about postbacks."""

ON_ALL = ("R7", "R12")
"""Rules on every attempt that was sent. R10 is about 429s, the others are about retries."""


def broken(row: Row) -> list[tuple[str, str]]:
    """Rule and severity of each verdict against an attempt."""
    return [rule for column, rule in RULES.items() if row[column] == 1]


def names(row: Row) -> list[str]:
    """The rules that an attempt broke, by name; of R1 with its severity."""
    return [f"{rule} {title('severity', severity)}" if rule == "R1" else rule for rule, severity in broken(row)]


def show(view: View, auction_id: str, result: Result, rows: Sequence[Row], labels: Sequence[str]) -> None:
    """A row for each verdict against an attempt; what was kept, and what nobody could judge, in words."""
    found = [
        {
            "partner": row["partner"],
            "what": label,
            "rule_text": audit.words("rule", {"rule": rule, "severity": severity}, "exchange"),
            "severity": title("severity", severity),
            "remedy": audit.words("rule_remedy", {"rule": rule, "severity": severity}, "exchange"),
        }
        for row, label in zip(rows, labels, strict=True)
        for rule, severity in sorted(broken(row), key=lambda pair: audit.SEVERITIES.index(pair[1]))
    ]
    panel.table(
        view,
        "auction_verdicts",
        result,
        found,
        metrics=("audit.violations", "audit.checked"),
        note=" ".join(part for part in (summary(rows), hammering(view, auction_id)) if part),
    )


def summary(rows: Sequence[Row]) -> str:
    """Which rules were kept, and which could not be judged."""
    judged = {rule for row in rows for column, (rule, _) in RULES.items() if row[column] is not None}
    against = {rule for row in rows for rule, _ in broken(row)}
    every = list(dict.fromkeys(rule for rule, _ in RULES.values()))
    kept = [rule for rule in every if rule in judged - against]
    repeated = any(row["r4"] is not None for row in rows)
    refused = any(row["outcome"] == "rate_limited" for row in rows)
    asked = {rule for rule in every if (refused if rule == "R10" else repeated or rule in ON_ALL)}
    left = [rule for rule in every if rule in asked - judged]
    parts = [say("auction_verdicts.kept", rules=", ".join(kept))] if kept else []
    if left:
        parts.append(say("auction_verdicts.not_judged", rules=", ".join(left)))
    if not repeated:
        hidden = any(row["hidden"] for row in rows)
        parts.append(say("auction_verdicts.hidden" if hidden else "auction_verdicts.no_retries"))
    return " ".join(parts)


def hammering(view: View, auction_id: str) -> str:
    """Whether the auction came too soon after three that nobody bid on."""
    result = data.table(view.snapshot, "auction_hammering", Filters(), shape=Only(equals("auction_id", auction_id)))
    return " ".join(
        say("auction_verdicts.R9", run=row["run"], delay=tell("auction_verdicts.delay", ms=round(row["delay_ms"])))
        for row in result.rows
    )
