"""Truth of the rule audit: what each rule could be judged on, and what broke it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ingest.simulate.records import Attempt, Postback
from ingest.simulate.truth.retries import Row

SEVERITIES = {
    "R2": "risk",
    "R3": "waste",
    "R4": "waste",
    "R5": "late",
    "R6": "duplicate",
    "R7": "load",
    "R8": "waste",
    "R9": "load",
    "R10": "load",
    "R11": "waste",
    "R12": "late",
}
HARMFUL = frozenset("2345")
"""The no-bid reasons after which a repeat harms."""
UNSAFE = frozenset(
    {
        "reset",
        "rate_limited",
        "invalid_response",
        "unexpected_status",
        "unknown_error",
        "cancelled",
        "bid",
        "answered_unknown",
    }
)
QUICK_US = 100_000
"""A retry of an order so soon after its trigger hammers."""
MOST_RETRIES = {"exchange": 2, "postback": 5}


class AuditTruth:
    """Counts verdicts as calls and orders are made."""

    def __init__(self) -> None:
        self.tallies: defaultdict[tuple[str, str, str, str | None], list[int]] = defaultdict(lambda: [0, 0])

    def judge(self, rule: str, stream: str, partner: str | None, broken: bool | None, severity: str = "") -> None:
        """One verdict; None where it could not be judged."""
        if broken is not None:
            tally = self.tallies[rule, severity or SEVERITIES[rule], stream, partner]
            tally[0] += broken
            tally[1] += 1

    def call(self, partner: str, sent: Sequence[Attempt]) -> None:
        """The sent attempts of one call, in order."""
        for attempt in sent:
            self.judge("R12", "exchange", partner, attempt.overlong)
        for number in range(1, len(sent)):
            if sent[number].outcome != "cancelled":
                self._retry(partner, number, sent[0], sent[number - 1], sent[number])

    def _retry(self, partner: str, number: int, original: Attempt, trigger: Attempt, retry: Attempt) -> None:
        repeated = trigger.outcome == "no_bid"
        harms = trigger.reason in HARMFUL
        unsafe = trigger.outcome in UNSAFE or (trigger.outcome == "server_error" and trigger.status not in (502, 503))
        known = original.request_id is not None and retry.request_id is not None
        self.judge("R1", "exchange", partner, repeated and harms, "harmful")
        self.judge("R1", "exchange", partner, repeated and not harms, "waste")
        for rule, broken in (
            ("R2", unsafe),
            ("R3", trigger.outcome == "timeout"),
            ("R4", number > MOST_RETRIES["exchange"]),
            ("R5", None if retry.fits is None else not retry.fits),
            ("R6", original.request_id != retry.request_id if known else None),
            ("R8", trigger.outcome == "client_error"),
        ):
            self.judge(rule, "exchange", partner, broken)

    def order(self, key_id: str, requests: Sequence[Postback]) -> None:
        """The requests of one order up to its first acceptance, in order."""
        signatures: set[str] = set()
        for number, (trigger, retry) in enumerate(pairwise(requests), 1):
            if trigger.signature is not None:
                signatures.add(trigger.signature)
            self.judge("R4", "postback", key_id, number > MOST_RETRIES["postback"])
            self.judge("R8", "postback", key_id, trigger.outcome == "client_error")
            self.judge("R9", "postback", key_id, retry.ts - trigger.ts <= QUICK_US)
            self.judge("R11", "postback", key_id, _stale(retry, signatures))

    def rows(self) -> list[Row]:
        """Rows of the table `audit`."""
        return [
            {
                "rule": rule,
                "severity": severity,
                "stream": stream,
                "partner": partner,
                "violations": violations,
                "checked": checked,
            }
            for (rule, severity, stream, partner), (violations, checked) in sorted(
                self.tallies.items(), key=lambda item: (int(item[0][0][1:]), *map(str, item[0][1:]))
            )
        ]


def _stale(retry: Postback, signatures: Iterable[str]) -> bool | None:
    """A retry was refused as stale, or repeats a signature; None where its signature or all before are unknown."""
    if retry.error_code in ("POSTBACK_REPLAY", "POSTBACK_STALE_TIMESTAMP"):
        return True
    earlier = frozenset(signatures)
    return retry.signature in earlier if retry.signature is not None and earlier else None
