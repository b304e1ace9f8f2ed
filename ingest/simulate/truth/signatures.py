"""Truth of the signatures: stale ones, replayed ones, and how far the clocks are apart."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict

from ingest.simulate.records import Postback
from ingest.simulate.stats import SECOND_US, nearest_rank
from ingest.simulate.truth.retries import Row

STALE_US = 300 * SECOND_US
REPLAY_US = 600 * SECOND_US


class SignatureTruth:
    """Remembers the stamps of each key, and the uses of each signature."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.stale: Counter[str] = Counter()
        self.skews: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        self.said: Counter[str] = Counter()
        self.uses: defaultdict[tuple[str, str], list[tuple[int, bool, bool]]] = defaultdict(list)

    def postback(self, key_id: str, postback: Postback) -> None:
        """One postback."""
        self.requests[key_id] += 1
        skew = None if postback.stamp is None else abs(postback.ts - postback.stamp)
        if skew is not None:
            self.skews[key_id].append(skew)
        self.stale[key_id] += postback.error_code == "POSTBACK_STALE_TIMESTAMP" or (skew or 0) > STALE_US
        said = postback.error_code == "POSTBACK_REPLAY"
        self.said[key_id] += said
        if postback.signature is not None:
            limited = postback.outcome == "rate_limited"
            self.uses[key_id, postback.signature].append((postback.ts, limited, said))

    def rows(self) -> list[Row]:
        """Rows of the table `signatures`."""
        replayed = self.said.copy()
        for (key_id, _), uses in self.uses.items():
            uses.sort()
            first = next((at for at, (_, limited, _) in enumerate(uses) if not limited), len(uses))
            replayed[key_id] += sum(not said and ts - uses[first][0] <= REPLAY_US for ts, _, said in uses[first + 1 :])
        return [
            {
                "key": key_id,
                "requests": requests,
                "stale": self.stale[key_id],
                "replayed": replayed[key_id],
                **self._quantiles(key_id),
            }
            for key_id, requests in sorted(self.requests.items())
        ]

    def _quantiles(self, key_id: str) -> Row:
        ordered = sorted(self.skews[key_id])
        return {
            name: nearest_rank(ordered, rank) / SECOND_US if ordered else None
            for name, rank in (("skew_p50_s", 500), ("skew_p99_s", 990))
        }
