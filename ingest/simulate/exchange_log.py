"""The lines of the exchange's log."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from ingest.simulate.partners import Mix, Partner
from ingest.simulate.records import Attempt, Auction, Call
from ingest.simulate.stats import iso
from ingest.simulate.timeline import Transition
from ingest.simulate.writer import LogWriter


@dataclass(slots=True)
class Course:
    """How far a call has come while it is made; times in tenths of a ms."""

    call: Call
    elapsed: int
    then: Mix
    """How the next attempt may end."""
    sent: int = 0
    delay: int = 0
    """Before the next attempt."""
    tried_again: bool = False
    """A retry was sent that was not cancelled."""


@dataclass
class ExchangeLog:
    """Writes what the exchange would have logged."""

    rng: Random
    writer: LogWriter

    def attempt(self, auction: Auction, partner: Partner, course: Course, attempt: Attempt, keys: str) -> None:
        """Add the attempt to its call and its line to the log of its node."""
        rng = self.rng
        aid = auction.auction_id
        before = len(course.call.attempts)
        course.call.attempts.append(attempt)
        number = max(partner.first_number, before) if partner.repeats_numbers else partner.first_number + before
        attempt.number = number
        identity = ""
        if partner.tells_ids:
            attempt.request_id = f"{aid}.{before}" if partner.fresh_ids and before else aid
            identity = f',"request_id":"{attempt.request_id}"'
        times = ""
        if partner.timed:
            left = auction.budget * 10 - course.elapsed
            reduced = partner.reduces_tmax and rng.random() < 0.97
            tmax = max(auction.budget - course.elapsed // 10 - 1, 0) if reduced else auction.budget
            attempt.overlong = tmax * 10 > left if auction.budget_known else None
            budget = f',"budget_ms":{auction.budget}' if auction.shows_budget else ""
            times = f',"tmax_ms":{tmax}{budget},"timeout_ms":{partner.timeout_ms},"elapsed_ms":{course.elapsed / 10}'
        latency = attempt.latency
        took = "" if latency is None else f',"latency_ms":{latency / 10}'
        mark = f',"breaker":"{attempt.mark}"' if attempt.mark else ""
        backoff = f',"backoff_ms":{course.delay / 10}' if before and partner.tells_backoff else ""
        logged = attempt.ts + (latency or 0) * 100 + (rng.randrange(400_000) if rng.random() < 0.05 else 0)
        self.writer.add(
            logged,
            f"exchange-{attempt.node}",
            f'{{"event":"attempt","ts":"{iso(attempt.ts)}","auction_id":"{aid}","partner":"{partner.name}",'
            f'"attempt":{number}{identity}{times}{took}{keys}{mark}{backoff},'
            f'"source":"{auction.source}","placement":"{auction.placement}","region":"{auction.region}",'
            f'"node":"{attempt.node}"}}',
        )

    def auction(self, auction: Auction, winner: Call | None, price: int) -> None:
        """The auction's own line, where it has one, and its winner."""
        if not auction.has_event:
            return
        sold = ""
        if winner is not None:
            winner.won = True
            sold = f',"winner":"{winner.partner}","price":{price / 10_000},"currency":"{winner.currency}"'
        status = 200 if winner else 204 if auction.calls else 400
        tmax = f',"tmax_ms":{auction.budget}' if auction.event_shows_tmax else ""
        took = 1_000 + int(self.rng.random() * 1_500)
        self.writer.add(
            auction.ts + took * 100,
            f"exchange-{auction.node}",
            f'{{"event":"auction","ts":"{iso(auction.ts)}","auction_id":"{auction.auction_id}",'
            f'"source":"{auction.source}","placement":"{auction.placement}"{tmax},"imps":{auction.imps},'
            f'"http_status":{status},"latency_ms":{took / 10}{sold}}}',
        )

    def transition(self, partner: str, node: str, transition: Transition) -> None:
        """The line of one breaker event."""
        ts, state_from, state_to = transition
        was = "" if state_from == "half_open" else f',"state_from":"{state_from}"'
        reason = ',"reason":"failure_rate"' if state_to == "open" else ""
        self.writer.add(
            ts,
            f"exchange-{node}",
            f'{{"event":"breaker","ts":"{iso(ts)}","partner":"{partner}","node":"{node}"{was},'
            f'"state_to":"{state_to}"{reason}}}',
        )
