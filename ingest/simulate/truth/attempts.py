"""Truth of single attempts: `outcomes`, `no_bids`, `latency` and the exchange's part of `rate_limits`."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from typing import Any

from ingest.simulate.records import NOT_SENT, Attempt
from ingest.simulate.stats import nearest_rank, ratio
from ingest.simulate.truth.retries import Row

_NAMED = {
    "0": ("Unknown Error", "technical"),
    "1": ("Technical Error", "technical"),
    "2": ("Invalid Request", "request"),
    "3": ("Known Web Crawler", "traffic"),
    "4": ("Suspected Non-Human Traffic", "traffic"),
    "5": ("Cloud, Data Center, or Proxy IP", "traffic"),
    "6": ("Unsupported Device", "property"),
    "7": ("Blocked Publisher or Site", "property"),
    "8": ("Unmatched User", "property"),
    "9": ("Daily User Cap Met", "cap"),
    "10": ("Daily Domain Cap Met", "cap"),
    "11": ("Ads.txt Authorization Unavailable", "authorization"),
    "12": ("Ads.txt Authorization Violation", "authorization"),
    "13": ("Ads.cert Authentication Unavailable", "authorization"),
    "14": ("Ads.cert Authentication Violation", "authorization"),
    "15": ("Insufficient Auction Time", "time"),
    "16": ("Incomplete SupplyChain", "supply_chain"),
    "17": ("Blocked SupplyChain Node", "supply_chain"),
    "no_reason": (None, "none"),
    "invalid": (None, "invalid"),
}


class AttemptTruth:
    """Counts attempts as they are made."""

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.latencies: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        self.times: array[int] = array("q")

    def attempt(self, partner: str, attempt: Attempt) -> None:
        """One attempt, sent or not."""
        self.times.append(attempt.ts)
        self.outcomes[partner, attempt.outcome] += 1
        if attempt.outcome == "no_bid":
            self.reasons[partner, attempt.reason or "no_reason"] += 1
        if attempt.latency is not None and attempt.outcome not in NOT_SENT:
            self.latencies[partner].append(attempt.latency)

    def tables(self) -> dict[str, list[Row]]:
        """The tables by name."""
        return {
            "outcomes": [
                {"partner": partner, "outcome": outcome, "attempts": attempts}
                for (partner, outcome), attempts in sorted(self.outcomes.items())
            ],
            "no_bids": [
                {"partner": partner, **_reason(code), "no_bids": attempts}
                for (partner, code), attempts in sorted(self.reasons.items())
            ],
            "latency": [_latency_row(partner, values) for partner, values in sorted(self.latencies.items())],
            "rate_limits": self._rate_limits(),
        }

    def _rate_limits(self) -> list[Row]:
        requests: Counter[str] = Counter()
        for (partner, outcome), attempts in self.outcomes.items():
            if outcome not in NOT_SENT:
                requests[partner] += attempts
        return [
            rate_limit_row("exchange", partner, None, sent, self.outcomes[partner, "rate_limited"])
            for partner, sent in sorted(requests.items())
        ]


def rate_limit_row(stream: str, partner: str, endpoint: str | None, requests: int, limited: int) -> Row:
    """One row of `rate_limits`."""
    return {
        "stream": stream,
        "partner": partner,
        "endpoint": endpoint,
        "requests": requests,
        "limited": limited,
        "rate": ratio(limited, requests),
    }


def _reason(code: str) -> dict[str, Any]:
    """Reason, name and class; what has no name in the standard has none here."""
    if code in _NAMED:
        name, kind = _NAMED[code]
    else:
        name, kind = ("Reserved", "reserved") if int(code) < 500 else ("Exchange-specific", "exchange")
    return {"reason": code, "name": name, "class": kind}


def _latency_row(partner: str, values: array[int]) -> Row:
    ordered = sorted(values)
    return {
        "partner": partner,
        "attempts": len(ordered),
        "p50_ms": nearest_rank(ordered, 500) / 10,
        "p95_ms": nearest_rank(ordered, 950) / 10,
        "p99_ms": nearest_rank(ordered, 990) / 10,
        "error_bound": 0,
    }
