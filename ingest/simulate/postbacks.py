"""Makes the orders of the affiliate platform: each key's requests, the replies, and what it repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from ingest.simulate.keys import Key
from ingest.simulate.partners import draw
from ingest.simulate.records import Postback
from ingest.simulate.stats import iso
from ingest.simulate.timeline import SECOND
from ingest.simulate.truth import Truth
from ingest.simulate.writer import LogWriter

ENDPOINT = "/api/v1/postback"
STREAM = "postback"
_REFUSALS = {
    "rate_limited": (429, "POSTBACK_RATE_LIMITED"),
    "stale_timestamp": (400, "POSTBACK_STALE_TIMESTAMP"),
    "replay": (409, "POSTBACK_REPLAY"),
}


@dataclass(slots=True)
class Order:
    """One order (or one postback without an order id) while it is sent."""

    key: Key
    order_id: str | None
    event_type: str
    click_id: str | None
    conversion_id: str | None
    amount: int
    """In hundredths."""
    serial: int
    sent: list[Postback]
    signature: str = ""


@dataclass
class Postbacks:
    """Makes the postback part of a run."""

    rng: Random
    keys: Sequence[Key]
    writer: LogWriter
    truth: Truth
    serial: int = 0

    def spontaneous(self, key: Key, ts: int) -> None:
        """One order of a key that no click of ours led to."""
        self._send(key, ts, None)

    def conversion(self, ts: int, click_id: str) -> bool:
        """The order that a click led to; True when it was accepted in the end."""
        key = self.keys[int(self.rng.random() * len(self.keys))]
        return self._send(key, ts, click_id)

    def _send(self, key: Key, ts: int, click_id: str | None) -> bool:
        rng = self.rng
        self.serial += 1
        ordered = click_id is not None or rng.random() >= key.without_order
        order = Order(
            key,
            f"ord-{self.serial}-{rng.getrandbits(24):06x}" if ordered else None,
            "sale" if rng.random() < 0.8 else "lead",
            click_id,
            str(700_000 + self.serial) if key.conversion_ids else None,
            rng.randrange(100, 20_000),
            self.serial,
            [],
        )
        accepted = self._until_accepted(order, ts, key.max_retries if ordered else 0)
        if accepted and ordered:
            self._after_acceptance(order)
        self.truth.postbacks(key.key_id, ENDPOINT, order.sent, ordered, click_id)
        return accepted

    def _until_accepted(self, order: Order, ts: int, retries: int) -> bool:
        """The first request and its retries; True when one was accepted."""
        rng = self.rng
        key = order.key
        outcome = draw(rng, key.first)
        while True:
            wait = self._request(order, ts, outcome)
            if outcome == "accepted":
                return True
            rule = key.again.get(outcome)
            if rule is None or len(order.sent) > retries or rng.random() >= rule.chance:
                return False
            low, high = key.delay_ms
            delay = rng.randrange(low * 1000, high * 1000)
            if wait and key.honours_retry_after:
                delay = int(wait * SECOND * rng.uniform(1.02, 1.8))
            ts += order.sent[-1].latency * 100 + delay
            outcome = draw(rng, rule.then)

    def _after_acceptance(self, order: Order) -> None:
        """What a key sends although its order was accepted."""
        rng = self.rng
        ts = order.sent[-1].ts
        habit = draw(rng, order.key.after)
        while habit != "nothing":
            ts += rng.randrange(SECOND, 40 * SECOND)
            again = "accepted" if habit in ("duplicate", "idempotent") else habit
            self._request(order, ts, again, habit)
            habit = draw(rng, order.key.after) if rng.random() < 0.3 else "nothing"

    def _request(self, order: Order, ts: int, outcome: str, habit: str = "") -> int:
        """Log one postback; the seconds of its Retry-After, or 0."""
        rng = self.rng
        latency = 20 + int(rng.random() * 800)
        order.sent.append(Postback(ts, outcome, latency, duplicate=bool(habit) and outcome == "accepted"))
        reply, wait = self._reply(order, outcome, habit)
        known = "".join(
            f',"{name}":"{value}"'
            for name, value in (
                ("tenant", order.key.tenant),
                ("external_order_id", order.order_id),
                ("click_id", order.click_id),
            )
            if value is not None
        )
        if order.key.tenant == "merchant-3":
            known += f',"idempotency_key":"idem-{order.serial}"'
        self.writer.add(
            ts + latency * 100 + (rng.randrange(SECOND) if rng.random() < 0.03 else 0),
            STREAM,
            f'{{"event":"postback","ts":"{iso(ts)}","key_id":"{order.key.key_id}","endpoint":"{ENDPOINT}",'
            f'"method":"POST","event_type":"{order.event_type}"{known},{reply}{self._signed(order, ts, outcome)},'
            f'"body_hash":"b{order.serial:08x}","latency_ms":{latency / 10},"amount":{order.amount / 100},'
            f'"currency":"USD","client_hash":"h-{order.key.key_id}"}}',
        )
        return wait

    def _reply(self, order: Order, outcome: str, habit: str) -> tuple[str, int]:
        """Keys of the platform's answer, and its Retry-After."""
        rng = self.rng
        if outcome == "accepted":
            conversion = "" if order.conversion_id is None else f',"conversion_id":{order.conversion_id}'
            told = "" if rng.random() < 0.1 else ',"accepted":true'
            repeated = {"duplicate": ',"duplicate":true', "idempotent": ',"idempotent_replay":true'}.get(habit, "")
            return f'"http_status":{201 if rng.random() < 0.1 else 200}{told}{conversion}{repeated}', 0
        if outcome == "rate_limited":
            wait = rng.randrange(1, 8)
            status, code = _REFUSALS[outcome]
            return (
                f'"http_status":{status},"accepted":false,"error_code":"{code}","retry_after":"{wait}",'
                f'"limit":600,"window_s":60',
                wait,
            )
        if outcome in _REFUSALS:
            status, code = _REFUSALS[outcome]
            return f'"http_status":{status},"accepted":false,"error_code":"{code}"', 0
        if outcome == "unexpected_status":
            return ('"http_status":200,"accepted":false' if rng.random() < 0.7 else '"http_status":302'), 0
        if outcome == "client_error":
            return f'"http_status":{rng.choice((400, 401, 404, 422))},"error_code":"POSTBACK_INVALID"', 0
        return f'"http_status":{rng.choice((500, 502, 503))}', 0

    def _signed(self, order: Order, ts: int, outcome: str) -> str:
        """Signature and its stamp; a replay repeats the signature, a stale one carries an old stamp."""
        rng = self.rng
        if not order.signature or (outcome != "replay" and (order.key.resigns or rng.random() < 0.5)):
            order.signature = f"s{rng.getrandbits(40):010x}"
        age = rng.randrange(310, 2_000) if outcome == "stale_timestamp" else rng.randrange(0, 5)
        return f',"signature_hash":"{order.signature}","x_timestamp":{ts // SECOND - age}'
