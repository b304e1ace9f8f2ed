"""The known truth of a run, counted while the events are made and never read back from the logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from ingest.simulate.records import Auction, Call, Postback
from ingest.simulate.truth.attempts import AttemptTruth
from ingest.simulate.truth.breakers import BreakerTruth
from ingest.simulate.truth.flags import flags_rows
from ingest.simulate.truth.funnels import FunnelTruth
from ingest.simulate.truth.notices import NoticeTruth
from ingest.simulate.truth.postbacks import PostbackTruth
from ingest.simulate.truth.retries import StreamTruth


class Truth:
    """Is told of every auction, notice, transition and order; gives the result tables."""

    def __init__(self, reporting: Collection[str]) -> None:
        """`reporting` names the partners whose breaker can be read from the logs."""
        self.calls = StreamTruth("exchange")
        self.attempts = AttemptTruth()
        self.funnels = FunnelTruth()
        self.breakers = BreakerTruth(reporting)
        self.notices = NoticeTruth()
        self.orders = PostbackTruth()
        self.mended: Counter[str] = Counter()
        self.click_ids = False
        """Some click has a `click_id`."""

    def auction(self, auction: Auction) -> None:
        """One auction, once its calls and its notices are made."""
        for call in auction.calls:
            self._call(call)
        self.funnels.auction(auction)

    def _call(self, call: Call) -> None:
        partner = call.partner
        reports = partner in self.breakers.reporting
        for attempt in call.attempts:
            self.attempts.attempt(partner, attempt)
            if reports:
                self.breakers.attempt(partner, attempt)
            if attempt.outcome == "answered_unknown":
                self.funnels.answers_unknown = True
            elif attempt.outcome in ("bid", "no_bid"):
                self.funnels.answers_known = True
        won = call.won or call.billing or call.click
        self.calls.call(partner, call.attempts, {call.currency: call.revenue} if won and call.revenue else None)

    def postbacks(
        self, key_id: str, endpoint: str, postbacks: Sequence[Postback], in_order: bool, click_id: str | None
    ) -> None:
        """The postbacks of one order, or of none."""
        self.orders.postbacks(key_id, endpoint, postbacks, in_order)
        self.orders.click_ids |= click_id is not None

    def tables(self) -> dict[str, Any]:
        """Result tables by name, in the shape of `show --format json`."""
        funnel, losses = self.funnels.rows(self.notices.kinds(), self.click_ids and self.orders.click_ids)
        postback_funnel, postback_losses = self.orders.funnel()
        attempts = self.attempts.tables()
        streams = (self.calls, self.orders.stream)
        flags = flags_rows(self.calls, self.attempts.times) + flags_rows(self.orders.stream, self.orders.times)
        return {
            "funnel": funnel + postback_funnel,
            "losses": losses + postback_losses,
            "outcomes": attempts["outcomes"],
            "no_bids": attempts["no_bids"],
            "calls": [row for stream in streams for row in stream.calls_rows()],
            "retries": [row for stream in streams for row in stream.retries_rows()],
            "fate": [row for stream in streams for row in stream.fate_rows()],
            "flags": flags,
            "breakers": self.breakers.rows(),
            "rate_limits": attempts["rate_limits"] + self.orders.rate_limits(),
            "notices": self.notices.rows(),
            "latency": attempts["latency"],
            "_mended": dict(sorted(self.mended.items())),
        }
