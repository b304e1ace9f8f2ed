"""Truth of the postback stream: its funnel, its rate limits, and its orders as calls."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from ingest.simulate.records import Attempt, Postback, Sender
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
        self.requests: Counter[tuple[str, str | None]] = Counter()
        self.limited: Counter[tuple[str, str | None]] = Counter()
        self.lost: Counter[str] = Counter()
        self.click_ids = False

    def postbacks(self, sender: Sender, postbacks: Sequence[Postback], chain: Sequence[Postback]) -> None:
        """The postbacks of one order in order of time, or of none; `chain`: those that make it a call."""
        place = sender.key_id, sender.endpoint
        for postback in postbacks:
            self.times.append(postback.ts)
            self.requests[place] += 1
            self.limited[place] += postback.outcome == "rate_limited"
            if postback.duplicate:
                self.lost["duplicate"] += 1
            elif postback.outcome != "accepted":
                self.lost[postback.outcome] += 1
        if chain:
            self.stream.call(sender.key_id, [Attempt(one.ts, one.outcome, one.latency) for one in chain])

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
            for (key_id, endpoint), requests in sorted(self.requests.items(), key=lambda item: tuple(map(str, item[0])))
        ]
