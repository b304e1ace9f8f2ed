"""The policy that applies the flags of this moment, with the evidence beside each partner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard import tables
from dashboard.snapshot import Snapshot
from dashboard.whatif.policy import TRIGGERS, Policy, Rules

Row = dict[str, Any]

OFF = ("never", "disable")
FORBIDDEN = ("no_bid", "client_error")
"""Triggers that are never repeated whatever their luck (rules R1 and R8)."""

EVIDENCE = (
    "trigger",
    "verdict",
    "retries",
    "successes",
    "upper_bound",
    "last_success",
    "ms_saved_per_day",
    "bids_at_risk",
    "revenue_at_risk",
)


def flag_policy(snapshot: Snapshot) -> tuple[Policy, dict[str, Any]]:
    """The policy of the flags on the exchange, and the fields of its file.

    A partner's trigger is off where its own flag says never or disable, and, unless its own evidence says keep, where
    the trigger is flagged over all partners, or where a roll-up over triggers is flagged and nothing within it is. It
    sets nothing else: how many retries, and whether without the time for one, stays as it was.
    """
    rows = [row for row in tables.rows(snapshot, "flags") if row["stream"] == "exchange"]
    # A partner or trigger that is itself called * shares its name with the roll-up, which holds more.
    verdicts = {
        (row["partner"], row["trigger"]): row["verdict"] for row in sorted(rows, key=lambda row: row["retries"])
    }
    every = frozenset(TRIGGERS)
    default = Rules(every - _off(verdicts, "*"))
    partners = {}
    for name in sorted({row["partner"] for row in rows} - {"*"}):
        own = Rules(every - _off(verdicts, name))
        if own != default or _evidence(rows, name):
            partners[name] = own
    policy = Policy(default, partners)
    return policy, _with_evidence(policy, rows)


def _off(verdicts: dict[tuple[str, str], str], partner: str) -> frozenset[str]:
    """Triggers that a partner ("*": any) does not repeat."""
    alone = [
        pair
        for pair in ((partner, "*"), ("*", "*"))
        if verdicts.get(pair) == "disable" and not _singles(verdicts, None if pair == ("*", "*") else partner)
    ]
    off = set(FORBIDDEN)
    for trigger in TRIGGERS:
        own = verdicts.get((partner, trigger))
        if own in OFF or (own != "keep" and (verdicts.get(("*", trigger)) == "disable" or (own and alone))):
            off.add(trigger)
    return frozenset(off)


def _singles(verdicts: dict[tuple[str, str], str], partner: str | None) -> bool:
    """Whether a flag more exact than a roll-up over all triggers (of `partner`; None: of all) stands."""
    return any(
        verdict in OFF and (name, trigger) != ("*", "*") and (partner is None or (name == partner and trigger != "*"))
        for (name, trigger), verdict in verdicts.items()
    )


def _evidence(rows: Sequence[Row], partner: str) -> list[Row]:
    found = [row for row in rows if row["partner"] == partner and row["verdict"] in OFF]
    return [{name: row[name] for name in EVIDENCE} for row in sorted(found, key=lambda row: str(row["trigger"]))]


def _with_evidence(policy: Policy, rows: Sequence[Row]) -> dict[str, Any]:
    fields = policy.fields()
    if "partners" in fields:
        partners = fields.pop("partners")
        fields["evidence"] = _evidence(rows, "*")
        fields["partners"] = {
            name: _listed(own, policy.of(name)) | {"evidence": _evidence(rows, name)} for name, own in partners.items()
        }
    else:
        fields["evidence"] = _evidence(rows, "*")
    return fields


def _listed(own: Row, rules: Rules) -> Row:
    """A partner's entry names its triggers in any case: an exchange reads them there."""
    return {"triggers": rules.fields()["triggers"]} | own
