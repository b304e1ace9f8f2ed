"""The known truth of a run, counted while the events are made and never read back from the logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from ingest.simulate.records import NOT_SENT, Auction, Call, Postback, Sender
from ingest.simulate.truth.attempts import AttemptTruth
from ingest.simulate.truth.audit import AuditTruth
from ingest.simulate.truth.backoff import BackoffTruth
from ingest.simulate.truth.breakers import BreakerTruth
from ingest.simulate.truth.expected import ExpectedTruth
from ingest.simulate.truth.flags import flags_rows
from ingest.simulate.truth.funnels import FunnelTruth
from ingest.simulate.truth.notices import NoticeTruth
from ingest.simulate.truth.orders import OrderTruth
from ingest.simulate.truth.postbacks import PostbackTruth
from ingest.simulate.truth.repeats import RepeatTruth
from ingest.simulate.truth.retries import StreamTruth
from ingest.simulate.truth.signatures import SignatureTruth
from ingest.simulate.truth.throttles import ThrottleTruth
from ingest.simulate.truth.windows import WindowTruth


class Truth:
    """Is told of every auction, notice, transition and order; gives the result tables."""

    def __init__(self, reporting: Collection[str]) -> None:
        """`reporting` names the partners whose breaker can be read from the logs."""
        self.calls = StreamTruth("exchange")
        self.attempts = AttemptTruth()
        self.funnels = FunnelTruth()
        self.breakers = BreakerTruth(reporting)
        self.expected = ExpectedTruth()
        self.repeats = RepeatTruth()
        self.notices = NoticeTruth()
        self.orders = PostbackTruth()
        self.ledger = OrderTruth()
        self.signatures = SignatureTruth()
        self.windows = WindowTruth()
        self.throttles = ThrottleTruth()
        self.audit = AuditTruth()
        self.backoff = BackoffTruth()
        self.mended: Counter[str] = Counter()
        self.click_ids = False
        """Some click has a `click_id`."""

    def auction(self, auction: Auction) -> None:
        """One auction, once its calls and its notices are made."""
        for call in auction.calls:
            self._call(call)
        self.funnels.auction(auction)
        self.repeats.auction(auction)

    def _call(self, call: Call) -> None:
        partner = call.partner
        reports = partner in self.breakers.reporting
        group = "exchange", partner, None
        sent = []
        for attempt in call.attempts:
            self.attempts.attempt(partner, attempt)
            self.expected.attempt(partner, attempt)
            if reports:
                self.breakers.attempt(partner, attempt)
            if attempt.outcome == "answered_unknown":
                self.funnels.answers_unknown = True
            elif attempt.outcome in ("bid", "no_bid"):
                self.funnels.answers_known = True
            if attempt.outcome not in NOT_SENT:
                sent.append(attempt)
                limited = attempt.outcome == "rate_limited"
                self.throttles.request(group, attempt.ts, limited, attempt.latency, attempt.wait)
        won = call.won or call.billing or call.click
        self.calls.call(partner, call.attempts, {call.currency: call.revenue} if won and call.revenue else None)
        self.audit.call(partner, sent)

    def postbacks(self, sender: Sender, postbacks: Sequence[Postback], click_id: str | None) -> None:
        """The postbacks of one order in order of time, or of none."""
        accepted = next((at for at, one in enumerate(postbacks) if one.outcome == "accepted"), len(postbacks))
        chain = postbacks[: accepted + 1] if sender.order_id is not None else ()
        self.orders.postbacks(sender, postbacks, chain)
        self.orders.click_ids |= click_id is not None
        self.ledger.postbacks(sender, postbacks)
        self.audit.order(sender.key_id, chain)
        group = "postback", sender.key_id, sender.endpoint
        for one in postbacks:
            self.windows.request(sender, one)
            self.signatures.postback(sender.key_id, one)
            self.throttles.request(group, one.ts, one.outcome == "rate_limited", one.latency, one.wait)

    def tables(self) -> dict[str, Any]:
        """Result tables by name, in the shape of `show --format json`."""
        funnel, losses = self.funnels.rows(self.notices.kinds(), self.click_ids and self.orders.click_ids)
        postback_funnel, postback_losses = self.orders.funnel()
        attempts = self.attempts.tables()
        streams = (self.calls, self.orders.stream)
        flags = flags_rows(self.calls, self.attempts.times) + flags_rows(self.orders.stream, self.orders.times)
        newest = {"exchange": self.expected.newest, "postback": max(self.orders.times, default=0)}
        reported = self.breakers.rows(self.audit)
        self.repeats.tell(self.audit)
        retry_after = self.throttles.rows(newest, self.audit)
        orders, faults = self.ledger.rows(newest["postback"])
        return {
            "funnel": funnel + postback_funnel,
            "losses": losses + postback_losses,
            "outcomes": attempts["outcomes"],
            "no_bids": attempts["no_bids"],
            "calls": [row for stream in streams for row in stream.calls_rows()],
            "retries": [row for stream in streams for row in stream.retries_rows()],
            "fate": [row for stream in streams for row in stream.fate_rows()],
            "audit": self.audit.rows(),
            "flags": flags,
            "breakers": reported + self.expected.rows(),
            "rate_limits": attempts["rate_limits"] + self.orders.rate_limits(),
            "windows": self.windows.rows(),
            "retry_after": retry_after,
            "orders": orders,
            "order_faults": faults,
            "signatures": self.signatures.rows(),
            "backoff": self.backoff.rows(),
            "notices": self.notices.rows(),
            "latency": attempts["latency"],
            "_mended": {key: facts for key, facts in sorted(self.mended.items()) if facts},
        }
