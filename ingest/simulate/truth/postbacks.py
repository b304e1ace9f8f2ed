"""Truth of the postback stream: its funnel, its rate limits, and its orders as calls."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from ingest.simulate.records import Attempt, Postback
from ingest.simulate.truth.attempts import rate_limit_row
from ingest.simulate.truth.funnels import POSTBACK_STAGES, stage_rows
from ingest.simulate.truth.retries import Row, StreamTruth

_LOST_AT = {"rate_limited": 1, "stale_timestamp": 2, "replay": 2, "duplicate": 4}
"""Position of the stage that is missed; what is not named here is not accepted (3)."""


class PostbackTruth:
    """Counts postbacks and orders as they are made."""

    def __init__(self) -> None:
        self.stream = StreamTruth("postback")
        self.times: array[int] = array("q")
        self.requests: Counter[tuple[str, str]] = Counter()
        self.limited: Counter[tuple[str, str]] = Counter()
        self.lost: Counter[str] = Counter()
        self.click_ids = False

    def postbacks(self, key_id: str, endpoint: str, postbacks: Sequence[Postback], in_order: bool) -> None:
        """The postbacks of one order in order of time, or some that belong to no order."""
        for postback in postbacks:
            self.times.append(postback.ts)
            self.requests[key_id, endpoint] += 1
            self.limited[key_id, endpoint] += postback.outcome == "rate_limited"
            if postback.duplicate:
                self.lost["duplicate"] += 1
            elif postback.outcome != "accepted":
                self.lost[postback.outcome] += 1
        if in_order:
            first = next((at for at, one in enumerate(postbacks) if one.outcome == "accepted"), len(postbacks))
            chain = [Attempt(one.ts, one.outcome, one.latency) for one in postbacks[: first + 1]]
            self.stream.call(key_id, chain)

    def funnel(self) -> tuple[list[Row], list[Row]]:
        """Rows of `funnel` and of `losses`."""
        counts: list[int | None] = [None] * len(POSTBACK_STAGES)
        lost_at = Counter[int]()
        for reason, times in self.lost.items():
            lost_at[_LOST_AT.get(reason, 3)] += times
        if self.times:
            left = len(self.times)
            for at in range(len(POSTBACK_STAGES)):
                left -= lost_at[at]
                counts[at] = left
        losses = [
            {
                "funnel": "postback",
                "stage": POSTBACK_STAGES[_LOST_AT.get(reason, 3)],
                "reason": reason,
                "count": times,
            }
            for reason, times in sorted(self.lost.items(), key=lambda item: (_LOST_AT.get(item[0], 3), item[0]))
        ]
        return stage_rows("postback", POSTBACK_STAGES, counts), losses

    def rate_limits(self) -> list[Row]:
        """The postback rows of `rate_limits`."""
        return [
            rate_limit_row("postback", key_id, endpoint, requests, self.limited[key_id, endpoint])
            for (key_id, endpoint), requests in sorted(self.requests.items())
        ]
