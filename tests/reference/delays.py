"""The delays that a sender's back-off is inferred from: how long it waited before retry 1, 2, 3."""

from collections.abc import Iterator
from dataclasses import dataclass

from .calls import Model
from .lines import Row
from .orders import read_orders


@dataclass(frozen=True)
class Delay:
    """The wait before retry `number`, in microseconds; `told` where the answer before it carried a `Retry-After`."""

    stream: str
    key: str
    number: int
    ts: int
    delay_us: int
    told: bool


def waited(before: Row, retry: Row) -> int:
    """From the answer of one request to the start of the next; 0 where the next did not wait for it."""
    return max(0, int(retry["ts"] - before["ts"] - (before["latency_ms"] or 0) * 1_000))


def delays(model: Model) -> Iterator[Delay]:
    """Of calls by partner, where the log may say them itself, and of orders by key; cancelled retries are none."""
    for call in model.calls:
        for number in range(1, len(call.sent)):
            before, retry = call.sent[number - 1], call.sent[number]
            if retry["outcome"] != "cancelled":
                said = retry["backoff_ms"]
                delay = waited(before, retry) if said is None else int(said * 1_000)
                told = before["retry_after"] is not None
                yield Delay("exchange", call.partner, number, retry["ts"], delay, told)
    for order in read_orders(model.facts.postbacks):
        for number in range(1, len(order.attempts)):
            before, retry = order.attempts[number - 1], order.attempts[number]
            told = before["retry_after"] is not None
            yield Delay("postback", order.partner, number, retry["ts"], waited(before, retry), told)
