"""Makes auctions: who is called, how each call goes, who wins; tells the truth of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from ingest.simulate.answers import Question, answer
from ingest.simulate.exchange_log import Course, ExchangeLog
from ingest.simulate.notices import Notices
from ingest.simulate.partners import Mix, Partner, draw, mix
from ingest.simulate.records import NOT_SENT, Attempt, Auction, Call, is_failure
from ingest.simulate.sources import SOURCES, Source
from ingest.simulate.timeline import NODES, Breaker
from ingest.simulate.truth import Truth
from ingest.simulate.waits import Wait, any_wait, no_wait

RESERVE = 400
"""What the exchange keeps of each budget for itself, in tenths of a ms."""


_BID, _NO_BID = mix(bid=1), mix(no_bid=1)


@dataclass
class Exchange:
    """Makes the exchange's part of a run."""

    rng: Random
    partners: Sequence[Partner]
    notices: Notices
    log: ExchangeLog
    truth: Truth
    breakers: Mapping[str, Breaker]
    serial: int = 0
    by_name: dict[str, Partner] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_name = {partner.name: partner for partner in self.partners}
        for partner in self.partners:
            if partner.backoff is not None:
                self.truth.backoff.sender("exchange", partner.name, partner.backoff)

    def auction(self, ts: int) -> None:
        """One auction that begins at `ts`, with all that follows from it."""
        self._approach_storms(ts)
        auction = self._begin(ts & ~1, SOURCES[int(self.rng.random() * len(SOURCES))])
        if self.rng.random() >= 0.01:
            for partner in self.partners:
                if self.rng.random() < partner.share:
                    auction.calls.append(self._call(auction, partner))
        auction.has_event |= not auction.calls
        self._resolve(auction)
        self.truth.auction(auction)

    def deal(self, ts: int, partner: Partner) -> None:
        """One auction that calls this partner alone."""
        self._approach_storms(ts)
        auction = self._begin(ts & ~1, Source("deals", (partner.name,), "eu-west", 300, "attempts"))
        auction.calls.append(self._call(auction, partner))
        self._resolve(auction)
        self.truth.auction(auction)

    def ask(self, ts: int, source: Source, filled: bool) -> None:
        """One auction that ends with a bid, or without."""
        self._approach_storms(ts)
        auction = self._begin(ts & ~1, source)
        auction.has_event = True
        auction.calls.append(self._call(auction, self.partners[0], _BID if filled else _NO_BID))
        self._resolve(auction)
        self.truth.auction(auction)

    def _begin(self, ts: int, source: Source) -> Auction:
        rng = self.rng
        self.serial += 1
        return Auction(
            ts=ts,
            auction_id=f"{self.serial:07x}-{rng.getrandbits(32):08x}",
            source=source.name,
            placement=source.placements[int(rng.random() * len(source.placements))],
            region=source.region,
            node=NODES[rng.getrandbits(1)],
            budget=source.budget,
            shows_budget=source.told == "attempts",
            has_event=rng.random() >= 0.02,
            event_shows_tmax=source.told != "nowhere",
            imps=2 if rng.random() < 0.1 else 1,
        )

    def _approach_storms(self, now: int) -> None:
        for name, breaker in self.breakers.items():
            for node, (ts, state_from, state_to) in breaker.approach(self.rng, now):
                if self.by_name[name].breaker == "events":
                    self.truth.breakers.event(ts, name, node, state_from, state_to)
                    self.log.transition(name, node, (ts, state_from, state_to))

    def _call(self, auction: Auction, partner: Partner, first: Mix | None = None) -> Call:
        """All attempts of one call; `first`: how its first one may end, where not as the partner mostly answers."""
        rng = self.rng
        breaker = self.breakers.get(partner.name)
        storm = partner.storm if partner.storm and breaker is not None and breaker.raging(auction.ts) else None
        call = Call(partner.name, [], currency=partner.currency)
        course = Course(call, 10 + int(rng.random() * 60), first or storm or partner.first)
        while True:
            attempt = self._attempt(auction, partner, breaker, course)
            rule = partner.again.get(attempt.outcome)
            if rule is None or len(course.call.attempts) > partner.max_retries or rng.random() >= rule.chance:
                return course.call
            course.delay = self._delay(partner, course)
            course.elapsed += (200 if attempt.latency is None else attempt.latency) + course.delay
            course.then = storm or rule.then
            ts = auction.ts + course.elapsed * 100
            left = auction.budget * 10 - RESERVE - course.elapsed
            if partner.guarded and left < partner.timeout_ms * 10:
                if rng.random() < 0.5:
                    out_of_time = Attempt(ts, "not_sent_limit", node=auction.node, stopped_by="no_time")
                    self.log.attempt(auction, partner, course, out_of_time, ',"not_sent":"no_time"')
                return course.call

    def _delay(self, partner: Partner, course: Course) -> int:
        """Tenths of a ms before the next attempt."""
        if partner.backoff is not None:
            return partner.backoff.delay_us(self.rng, max(course.sent, 1)) // 100
        return self.rng.randrange(*partner.backoff_ms) * 10

    def _attempt(self, auction: Auction, partner: Partner, breaker: Breaker | None, course: Course) -> Attempt:
        """One attempt, sent unless a breaker or a limit stops it."""
        rng = self.rng
        node = self._node(auction, course)
        ts = auction.ts + course.elapsed * 100
        outcome, mark = self._outcome(partner, breaker, course, node, ts)
        if outcome in NOT_SENT:
            attempt = Attempt(ts, outcome, node=node, mark=mark if mark == "open" else None)
            self.log.attempt(auction, partner, course, attempt, self._stop_keys(partner, outcome))
            return attempt
        price = int(500 + 45_000 * rng.random() ** 3) if outcome == "bid" else 0
        found = answer(rng, partner, outcome, Question(auction.auction_id, auction.imps, price))
        latency = self._latency(partner, outcome)
        late = fits = None
        if partner.timed and auction.budget_known:
            deadline = auction.budget * 10 - RESERVE
            fits = deadline - course.elapsed >= partner.timeout_ms * 10
            if latency is not None:
                if course.elapsed + latency == deadline:
                    latency += 1
                late = course.elapsed + latency > deadline
        reject = None
        wait = self._wait(outcome, ts + (latency or 0) * 100)
        keys = found.keys + wait.key
        if outcome == "bid" and not late and rng.random() < 0.05:
            reject = "below_floor" if rng.random() < 0.6 else "blocked_adomain"
            keys += f',"reject_reason":"{reject}"'
        attempt = Attempt(
            ts,
            outcome,
            latency,
            late=late,
            reason=found.reason,
            reject=reject,
            price=price,
            node=node,
            mark=mark,
            status=found.status,
            wait=wait.us,
            fits=fits,
        )
        if course.sent and partner.backoff is not None:
            self.truth.backoff.delay("exchange", partner.name)
        course.tried_again |= course.sent > 0 and outcome != "cancelled"
        course.sent += 1
        self.log.attempt(auction, partner, course, attempt, keys)
        return attempt

    def _wait(self, outcome: str, answered: int) -> Wait:
        """The Retry-After of three of four 429s."""
        if outcome != "rate_limited" or self.rng.random() < 0.25:
            return no_wait()
        wait = any_wait(self.rng, answered, 1, 6)
        self.truth.mended["retry_after"] += wait.mended
        return wait

    def _node(self, auction: Auction, course: Course) -> str:
        """A retry sometimes leaves through the other node."""
        if course.call.attempts and self.rng.random() < 0.05:
            return NODES[1 - NODES.index(auction.node)]
        return auction.node

    def _outcome(
        self, partner: Partner, breaker: Breaker | None, course: Course, node: str, ts: int
    ) -> tuple[str, str | None]:
        """The outcome that the attempt shall have, and the breaker column."""
        outcome = draw(self.rng, course.then)
        if outcome == "cancelled" and course.sent and not course.tried_again:
            outcome = "reset"
        if breaker is None:
            return outcome, "closed" if partner.breaker == "closed" else None
        breaker.seen.add(node)
        state, failing = breaker.state(node, ts)
        if state == "open":
            return (outcome if self.rng.random() < partner.leaks else "not_sent_breaker"), "open"
        if state == "half_open":
            return ("server_error" if failing else "no_bid"), "half_open"
        return outcome, "closed" if self.rng.random() < 0.9 else None

    def _stop_keys(self, partner: Partner, outcome: str) -> str:
        """A column that says open, and nothing else, tells of a stopped attempt too."""
        if outcome == "not_sent_breaker" and partner.breaker == "column" and self.rng.random() < 0.5:
            return ""
        return answer(self.rng, partner, outcome, Question("", 1, 0)).keys

    def _latency(self, partner: Partner, outcome: str) -> int | None:
        """Tenths of a ms; below the partner's timeout but for a timeout."""
        point = self.rng.random()
        limit = partner.timeout_ms * 10
        if outcome == "cancelled":
            return None
        if outcome == "timeout":
            return limit + int(point * 40)
        if is_failure(outcome):
            return int(10 + point * 300)
        return min(int(partner.base_ms * 10 * (0.5 + point) + partner.spread_ms * 10 * point**6), limit - 1)

    def _resolve(self, auction: Auction) -> None:
        """Choose the winner, log the auction, send the notices."""
        offers = []
        for call in auction.calls:
            if call.attempts[0].outcome == "answered_unknown" and self.rng.random() < 0.1:
                offers.append((self.rng.randrange(2_000, 60_000), call))
            bids = [one for one in call.attempts if one.outcome == "bid" and not one.reject and not one.late]
            if bids:
                offers.append((max(one.price or 0 for one in bids), call))
        best = max(offers, key=lambda offer: offer[0], default=None)
        if best is not None and self.rng.random() < 0.08:
            best = None
        winner, price = (best[1], best[0]) if best else (None, 0)
        self.log.auction(auction, winner, price)
        if winner is not None:
            self.notices.winner(auction, winner, price)
        for _, call in offers:
            if call is not winner:
                self.notices.loser(auction, call, winner is None)
        self.notices.orphans(auction)
