"""Makes win, billing, impression, click and loss notices: late, repeated, without a price, or of no known call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from ingest.simulate.backoff import Backoff
from ingest.simulate.postbacks import Postbacks
from ingest.simulate.records import Auction, Call
from ingest.simulate.stats import iso
from ingest.simulate.timeline import SECOND
from ingest.simulate.truth import Truth
from ingest.simulate.writer import LogWriter

LOSS_REASONS = (102, 102, 102, 100, 103, 205, None)
MACRO = '"${AUCTION_PRICE}"'
MOST_DELIVERIES = 6


@dataclass(frozen=True, slots=True)
class Subject:
    """What a notice is about, and how its lines name it."""

    auction: Auction
    partner: str | None
    imp_id: str | None
    names_partner: bool = True
    orphan: bool = False
    extra: str = ""
    """More keys of the line, each with a comma before it."""


@dataclass(frozen=True, slots=True)
class Money:
    """Price in ten-thousandths (CPM) and its currency."""

    price: int
    currency: str
    sure: bool
    """Every delivery carries the price."""


@dataclass
class Notices:
    """Makes the notices of a run."""

    rng: Random
    writer: LogWriter
    truth: Truth
    billing: bool
    postbacks: Postbacks
    backoffs: Mapping[str, Backoff]
    """By partner: how a notice that failed is delivered again."""

    def winner(self, auction: Auction, call: Call, price: int) -> None:
        """All notices of the winning call."""
        rng = self.rng
        retried_bid = _last_bid_is_a_retry(call)
        imps = 1 if retried_bid else auction.imps
        for imp in range(1, imps + 1):
            imp_id = None if imps == 1 and rng.random() < 0.03 else str(imp)
            named = not auction.has_event or rng.random() >= 0.02
            subject = Subject(auction, call.partner, imp_id, named)
            money = Money(price, call.currency, retried_bid)
            start = auction.ts + rng.randrange(SECOND // 5, SECOND)
            if retried_bid or rng.random() < 0.97:
                call.won = True
                call.revenue += self._send("win", subject, start, money)
            if rng.random() < 0.9:
                self._shown(call, subject, start, money)

    def _shown(self, call: Call, subject: Subject, start: int, money: Money) -> None:
        """Billing and impression, then perhaps a click."""
        rng = self.rng
        start += rng.randrange(SECOND // 2, 8 * SECOND)
        if self.billing and rng.random() < 0.95:
            call.billing = True
            self._send("billing", subject, start, money)
        if rng.random() < 0.95 and (call.won or call.billing):
            call.impression = True
            self._send("impression", subject, start + rng.randrange(SECOND), None)
        if rng.random() < 0.06:
            self._clicked(call, subject, start + rng.randrange(SECOND, 20 * SECOND))

    def _clicked(self, call: Call, subject: Subject, ts: int) -> None:
        click_id = f"c{self.rng.getrandbits(48):012x}" if self.rng.random() < 0.9 else None
        keys = "" if click_id is None else f',"click_id":"{click_id}"'
        call.click = True
        self._send("click", replace(subject, extra=keys), ts)
        if click_id is not None:
            self.truth.click_ids = True
            if self.postbacks.keys and self.rng.random() < 0.35:
                call.converted |= self.postbacks.conversion(ts + self.rng.randrange(2 * SECOND, 90 * SECOND), click_id)

    def loser(self, auction: Auction, call: Call, unsold: bool) -> None:
        """Perhaps a loss notice for a bid that did not win."""
        if self.rng.random() >= 0.4:
            return
        reason = 100 if unsold else self.rng.choice(LOSS_REASONS)
        call.loss_reason = None if reason is None else str(reason)
        keys = "" if reason is None else f',"loss_reason":{reason}'
        subject = Subject(auction, call.partner, "1", extra=keys)
        self._send("loss", subject, auction.ts + self.rng.randrange(SECOND // 4, 2 * SECOND))

    def orphans(self, auction: Auction) -> None:
        """Now and then a notice of which the data have no call."""
        rng = self.rng
        if rng.random() >= 0.004:
            return
        kind = "billing" if self.billing and rng.random() < 0.4 else "win"
        stranger = replace(auction, auction_id=f"x{rng.getrandbits(48):012x}", has_event=False, calls=[])
        partner = rng.choice(("ghostbid", "northbid", None))
        money = Money(rng.randrange(500, 30_000), "USD", True)
        self._send(kind, Subject(stranger, partner, "1", partner is not None, True), auction.ts + SECOND, money)

    def _send(self, kind: str, subject: Subject, ts: int, money: Money | None = None) -> int:
        """Deliver one notice, perhaps more than once; the price that a reader can know, else 0."""
        moments = self._deliveries(subject.partner, ts)
        known = 0
        for at, moment in enumerate(moments, 1):
            price = ""
            if money is not None:
                price, tells = self._price(money)
                known = money.price if tells else known
            if subject.partner in self.backoffs:
                price += f',"http_status":{200 if at == len(moments) else 503}'
            self._log(kind, subject, moment, price)
        currency = money.currency if money is not None and known else None
        self.truth.notices.notice(kind, subject.partner, len(moments), currency, known, subject.orphan)
        return known

    def _deliveries(self, partner: str | None, ts: int) -> list[int]:
        """When a notice is delivered: some more than once, and those of some partners until they succeed."""
        rng = self.rng
        backoff = self.backoffs.get(partner or "")
        moments = [ts]
        if backoff is None:
            for _ in range(0 if rng.random() >= 0.04 else rng.randrange(1, 3)):
                moments.append(moments[-1] + rng.randrange(1, 30 * SECOND))
            return moments
        while len(moments) < MOST_DELIVERIES and rng.random() < 0.3:
            moments.append(moments[-1] + backoff.delay_us(rng, len(moments)))
            self.truth.backoff.delay("notice", partner or "")
        return moments

    def _price(self, money: Money) -> tuple[str, bool]:
        """Keys of the line for a price, and whether they tell it."""
        point = self.rng.random()
        number = str(money.price / 10_000)
        currency = f',"currency":"{money.currency}"'
        if money.sure or point < 0.7:
            return f',"price":{number}{currency}', True
        if point < 0.95:
            bare = money.currency == "USD" and point < 0.8
            return f',"price":"{number}"{"" if bare else currency}', True
        if point < 0.98:
            self.truth.mended["price"] += 1
            return f',"price":{MACRO}{currency}', False
        return (f',"price":""{currency}' if point < 0.99 else ""), False

    def _log(self, kind: str, subject: Subject, ts: int, price: str) -> None:
        rng = self.rng
        partner = f',"partner":"{subject.partner}"' if subject.partner and subject.names_partner else ""
        imp = f',"imp_id":"{subject.imp_id}"' if subject.imp_id else ""
        logged = ts + (rng.randrange(90 * SECOND) if rng.random() < 0.03 else 0)
        self.writer.add(
            logged,
            f"exchange-{subject.auction.node}",
            f'{{"event":"{kind}","ts":"{iso(ts)}","auction_id":"{subject.auction.auction_id}"{imp}{partner}{price}'
            f"{subject.extra}}}",
        )


def _last_bid_is_a_retry(call: Call) -> bool:
    """The last bid of the call was not its first attempt; such a win is always told with its price."""
    bids = [at for at, attempt in enumerate(call.attempts) if attempt.outcome == "bid"]
    return bool(bids) and bids[-1] > 0
