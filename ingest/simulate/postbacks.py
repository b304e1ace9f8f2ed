"""Makes the orders of the affiliate platform: each key's requests, the replies, and what it repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from ingest.simulate.keys import Key
from ingest.simulate.partners import draw
from ingest.simulate.records import Postback, Sender
from ingest.simulate.replies import Replies
from ingest.simulate.stats import DAY_US, iso
from ingest.simulate.timeline import SECOND
from ingest.simulate.truth import Truth
from ingest.simulate.writer import LogWriter

STREAM = "postback"
_AS_ACCEPTED = frozenset({"duplicate", "idempotent", "second_id", "unmarked", "other_amount", "other_currency"})
"""Habits that the platform accepts once more."""


@dataclass(slots=True)
class Order:
    """One order (or one postback without an order id) while it is sent."""

    key: Key
    sender: Sender
    click_id: str | None
    conversion_id: str | None
    amount: int
    """In hundredths."""
    serial: int
    idempotency_key: str | None
    client_hash: str | None
    currency: str = "USD"
    body_hash: str = ""
    sent: list[Postback] = field(default_factory=list)
    signature: str = ""
    accepted: set[str | None] = field(default_factory=set)
    """Conversion ids that were accepted; None stands for the order's own, where it has none."""


@dataclass
class Postbacks:
    """Makes the postback part of a run."""

    rng: Random
    keys: Sequence[Key]
    writer: LogWriter
    truth: Truth
    end: int
    """No retry sleeps beyond this moment."""
    serial: int = 0
    busy: dict[str, int] = field(default_factory=dict)
    """Until when a key that sends one order at a time is busy."""
    last: dict[str, int] = field(default_factory=dict)
    """The latest order of each key."""

    def __post_init__(self) -> None:
        self.replies = Replies(self.rng, self.truth)
        self.converting = [key for key in self.keys if key.converts]
        for key in self.keys:
            if key.backoff is not None:
                self.truth.backoff.sender("postback", key.key_id, key.backoff)

    def spontaneous(self, key: Key, ts: int) -> None:
        """One order of a key (or a burst of them) that no click of ours led to."""
        if ts < self.busy.get(key.key_id, 0):
            return
        for _ in range(self.rng.randrange(*key.burst)):
            self._send(key, ts, None)
            ts += self.rng.randrange(SECOND // 50, SECOND // 5)

    def conversion(self, ts: int, click_id: str) -> bool:
        """The order that a click led to; True when it was accepted in the end."""
        key = self.converting[int(self.rng.random() * len(self.converting))]
        return self._send(key, ts, click_id)

    def _send(self, key: Key, ts: int, click_id: str | None) -> bool:
        order = self._order(key, click_id)
        ordered = order.sender.order_id is not None
        if key.backoff is not None and key.backoff.tick_s:
            ts = key.backoff.next_tick(ts, self.rng.randrange(8))
        accepted = self._until_accepted(order, ts, key.max_retries if ordered else 0)
        if accepted and ordered:
            self._after_acceptance(order)
        if key.one_at_a_time:
            self.busy[key.key_id] = order.sent[-1].ts + SECOND
        self.truth.postbacks(order.sender, order.sent, click_id)
        return accepted

    def _order(self, key: Key, click_id: str | None) -> Order:
        rng = self.rng
        self.serial += 1
        ordered = click_id is not None or rng.random() >= key.without_order
        number = self.serial
        before = self.last.get(key.key_id, number)
        idempotent = before if rng.random() < key.reuses_keys else number
        self.last[key.key_id] = number
        client = f"h-{key.key_id}"
        if key.clients:
            client = f"{client}-{rng.randrange(key.clients)}" if rng.random() < 0.9 else ""
        return Order(
            key,
            Sender(
                key.key_id,
                key.endpoints[number % len(key.endpoints)],
                key.tenant,
                "sale" if rng.random() < 0.8 else "lead",
                f"ord-{number}-{rng.getrandbits(24):06x}" if ordered else None,
            ),
            click_id,
            str(700_000 + number) if key.conversion_ids else None,
            rng.randrange(100, 20_000),
            number,
            f"idem-{key.key_id}-{idempotent}" if key.idempotency_keys else None,
            client or None,
            body_hash=f"b{number:08x}",
        )

    def _until_accepted(self, order: Order, ts: int, retries: int) -> bool:
        """The first request and its retries; True when one was accepted."""
        rng = self.rng
        key = order.key
        outcome = draw(rng, key.first)
        while True:
            request = self._request(order, ts, outcome)
            if request.outcome == "accepted":
                return True
            rule = key.again.get(outcome)
            if rule is None or len(order.sent) > retries or rng.random() >= rule.chance:
                return False
            heed = draw(rng, key.heeds) if request.wait else "ignore"
            if heed == "quit":
                return False
            ts = self._next(key, request, len(order.sent), heed)
            outcome = draw(rng, rule.then)

    def _next(self, key: Key, request: Postback, retry_no: int, heed: str) -> int:
        """When a retry comes."""
        rng = self.rng
        answered = request.ts + request.latency * 100
        if heed != "ignore":
            low, high = {"obey": (1.02, 1.8), "early": (0.1, 0.5), "late": (2.6, 4.0)}[heed]
            return answered + int((request.wait or 0) * rng.uniform(low, high))
        if key.backoff is not None:
            if request.wait is None:
                self.truth.backoff.delay("postback", key.key_id)
            if key.backoff.tick_s:
                return key.backoff.next_tick(answered, rng.randrange(8))
            return answered + key.backoff.delay_us(rng, retry_no)
        if rng.random() < key.sleeps and answered + DAY_US * 5 // 4 < self.end:
            return answered + DAY_US + rng.randrange(DAY_US // 4)
        low_ms, high_ms = key.delay_ms
        return answered + rng.randrange(low_ms * 1000, high_ms * 1000)

    def _after_acceptance(self, order: Order) -> None:
        """What a key sends although its order was accepted."""
        rng = self.rng
        ts = order.sent[-1].ts
        habit = draw(rng, order.key.after)
        while habit != "nothing":
            ts += rng.randrange(SECOND, 40 * SECOND)
            outcome = "accepted" if habit in _AS_ACCEPTED else habit
            self._request(order, ts, "client_error" if habit == "other_body" else outcome, habit)
            habit = draw(rng, order.key.after) if rng.random() < 0.3 else "nothing"

    def _request(self, order: Order, ts: int, outcome: str, habit: str = "") -> Postback:
        """Log one postback."""
        rng = self.rng
        key, sender = order.key, order.sender
        self._change(order, habit)
        latency = 20 + int(rng.random() * 800)
        request = Postback(
            ts,
            outcome,
            latency,
            amount=order.amount if key.amounts else None,
            currency=order.currency if key.amounts else None,
            body_hash=order.body_hash,
            idempotency_key=order.idempotency_key,
            client_hash=order.client_hash,
            conversion_id=order.conversion_id,
        )
        reply = self.replies.reply(key, request, habit)
        signed = self._signed(order, request)
        if request.outcome == "accepted":
            request.duplicate = sender.order_id is not None and request.conversion_id in order.accepted
            order.accepted.add(request.conversion_id)
        order.sent.append(request)
        known = "".join(
            f',"{name}":"{value}"'
            for name, value in (
                ("endpoint", sender.endpoint),
                ("tenant", sender.tenant),
                ("external_order_id", sender.order_id),
                ("click_id", order.click_id),
                ("idempotency_key", order.idempotency_key),
                ("client_hash", order.client_hash),
            )
            if value is not None
        )
        money = f',"amount":{order.amount / 100},"currency":"{order.currency}"' if key.amounts else ""
        self.writer.add(
            ts + latency * 100 + (rng.randrange(SECOND) if rng.random() < 0.03 else 0),
            STREAM,
            f'{{"event":"postback","ts":"{iso(ts)}","key_id":"{key.key_id}","method":"POST",'
            f'"event_type":"{sender.event_type}"{known},{reply}{signed},"body_hash":"{order.body_hash}",'
            f'"latency_ms":{latency / 10}{money}}}',
        )
        return request

    def _change(self, order: Order, habit: str) -> None:
        """What a faulty sender or platform changes about an order that it repeats."""
        if habit == "second_id":
            order.conversion_id = f"{order.conversion_id}{len(order.sent)}"
        elif habit == "other_amount":
            order.amount += 500
        elif habit == "other_currency":
            order.currency = "EUR" if order.currency == "USD" else "USD"
        elif habit == "other_body":
            order.body_hash = f"b{order.serial:08x}-{len(order.sent)}"

    def _signed(self, order: Order, request: Postback) -> str:
        """Signature and its stamp; a replay repeats the signature, a stale one carries an old stamp."""
        rng = self.rng
        key = order.key
        if not key.signs:
            return ""
        if not order.signature or (request.outcome != "replay" and (key.resigns or rng.random() < 0.5)):
            order.signature = f"s{rng.getrandbits(40):010x}"
        old = request.outcome == "stale_timestamp" or rng.random() < key.wrong_clock
        age = rng.randrange(310, 2_000) if old else rng.randrange(-2, 5)
        request.signature = order.signature
        request.stamp = (request.ts // SECOND - age) * SECOND
        return f',"signature_hash":"{order.signature}","x_timestamp":{request.stamp // SECOND}'
