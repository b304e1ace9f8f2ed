"""Lines that a reader must reject, or mend."""

from __future__ import annotations

from itertools import cycle
from random import Random

from ingest.simulate.partners import Partner
from ingest.simulate.postbacks import STREAM
from ingest.simulate.records import Attempt, Auction, Call
from ingest.simulate.stats import iso
from ingest.simulate.timeline import NODES
from ingest.simulate.truth import Truth
from ingest.simulate.writer import LogWriter

_EXCHANGE_LINES = (
    '{"event":"attempt","ts":"%s","auction_id":"cut-1","partner":"northbid","http_sta',
    '{"event":"attempt","ts":"%s","auction_id":"lost-1","http_status":204}',
    '{"event":"attempt","ts":"%s","auction_id":"","partner":"northbid","http_status":204}',
    '{"event":"attempt","ts":"yesterday at noon","auction_id":"when-1","partner":"northbid","http_status":204}',
    '{"event":"attempt","ts":"2026-09-14T10:59:60Z","auction_id":"when-2","partner":"northbid","http_status":204}',
    '{"event":"bidding","ts":"%s","auction_id":"odd-1","partner":"northbid"}',
    '[{"event":"win","ts":"%s","auction_id":"list-1"}]',
    '{"event":"win","ts":"%s","auction_id":"tail-1","partner":"northbid"} trailing text',
    "connection to log collector lost",
)
_POSTBACK_LINES = (
    '{"event":"postback","ts":"%s","key_id":"key-calm","http_status":20',
    '{"event":"postback","ts":"%s","http_status":200}',
    '{"event":"postback","ts":"%s","key_id":"key-calm"}',
    '{"event":"postback","ts":"1999-12-31T23:59:59Z","key_id":"key-calm","http_status":200}',
)


class BrokenLines:
    """Puts lines into the logs that are no facts, and attempts whose latency is not a number."""

    def __init__(self, rng: Random, writer: LogWriter, truth: Truth, partner: Partner | None, postbacks: bool) -> None:
        """`partner` is the one with attempts of unknown latency; None where the run has no exchange log."""
        self.rng = rng
        self.writer = writer
        self.truth = truth
        self.partner = partner
        self.postbacks = postbacks
        self.made = 0
        self.exchange_lines = cycle(_EXCHANGE_LINES)
        self.postback_lines = cycle(_POSTBACK_LINES)

    def add(self, ts: int) -> None:
        """One more line at that moment, of the next kind in turn."""
        turn = self.made
        self.made += 1
        if self.partner is not None and turn % 4 == 3:
            self._latency_unknown(self.partner, ts & ~1)
        elif self.postbacks and (self.partner is None or turn % 4 == 2):
            self._reject(STREAM, next(self.postback_lines), ts)
        else:
            self._reject(f"exchange-{self.rng.choice(NODES)}", next(self.exchange_lines), ts)

    def blank(self, ts: int) -> None:
        """One blank line at that moment."""
        stream = f"exchange-{self.rng.choice(NODES)}" if self.partner is not None else STREAM
        self.writer.add(ts, stream, self.rng.choice(("", " ", "\t")), "blank")

    def _reject(self, stream: str, line: str, ts: int) -> None:
        self.writer.add(ts, stream, line % iso(ts) if "%s" in line else line, "rejects")

    def _latency_unknown(self, partner: Partner, ts: int) -> None:
        """A sent attempt with a bare NaN: a fact of unknown latency, a call and an auction of its own."""
        node = self.rng.choice(NODES)
        auction_id = f"nan-{self.made}-{self.rng.getrandbits(32):08x}"
        self.writer.add(
            ts,
            f"exchange-{node}",
            f'{{"event":"attempt","ts":"{iso(ts)}","auction_id":"{auction_id}","partner":"{partner.name}","attempt":1,'
            f'"latency_ms":NaN,"http_status":204,"node":"{node}"}}',
        )
        attempt = Attempt(ts, "no_bid", reason="no_reason", node=node, mark=None)
        auction = Auction(ts, auction_id, "", "", "", node, 0, False, False, False, 1, [Call(partner.name, [attempt])])
        self.truth.mended["latency_ms"] += 1
        self.truth.auction(auction)
