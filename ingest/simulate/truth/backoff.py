"""Truth of the back-offs: the rule by which each known sender waited."""

from __future__ import annotations

from collections import Counter

from ingest.simulate.backoff import Backoff
from ingest.simulate.truth.retries import Row

LEAST_DELAYS = 30
"""With fewer nobody can tell the rule."""


class BackoffTruth:
    """Knows the senders that wait by a rule, and counts their delays; of all others it says nothing."""

    def __init__(self) -> None:
        self.senders: dict[tuple[str, str], Backoff] = {}
        self.delays: Counter[tuple[str, str]] = Counter()

    def sender(self, stream: str, key: str, backoff: Backoff) -> None:
        """One sender."""
        self.senders[stream, key] = backoff

    def delay(self, stream: str, key: str) -> None:
        """One retry of a sender that no Retry-After had told when to come."""
        self.delays[stream, key] += 1

    def rows(self) -> list[Row]:
        """Rows of the table `backoff`, with the true base and cap."""
        return [
            {
                "stream": stream,
                "key": key,
                "kind": backoff.kind,
                "base_ms": backoff.base_ms,
                "cap_ms": backoff.cap_ms,
                "jitter": backoff.jitter,
                "delays": self.delays[stream, key],
                "synchronised": backoff.tick_s is not None,
            }
            for (stream, key), backoff in sorted(self.senders.items())
            if self.delays[stream, key] >= LEAST_DELAYS
        ]
