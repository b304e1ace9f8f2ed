"""Retries of both streams: a chain is a call or an order, its steps are what was sent."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from math import sqrt

from .calls import Call, Model
from .lines import Row
from .orders import Order, is_accepted, read_orders, trigger
from .outcomes import rank
from .selection import Selection, ordered, ratio

TWO_SIDED, ONE_SIDED = 1.959963984540054, 1.6448536269514722


def wilson(successes: int, n: int, z: float) -> tuple[float, float]:
    """Lower and upper bound of the Wilson score interval of successes / n, n > 0."""
    share = successes / n
    middle = share + z * z / (2 * n)
    spread = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - spread) / (1 + z * z / n), (middle + spread) / (1 + z * z / n)


@dataclass
class Step:
    """One request that was sent: its outcome, and its rank (2 bid, 1 answered or accepted, 0 neither)."""

    ts: int
    outcome: str
    rank: int
    latency_ms: Decimal | None
    late: bool | None = None

    @property
    def cancelled(self) -> bool:
        return self.outcome == "cancelled"

    @property
    def failed(self) -> bool:
        """Whether it was neither answered or accepted nor given up by the caller."""
        return self.rank == 0 and not self.cancelled


@dataclass
class Retry:
    """A retry that was not cancelled, with its number among the requests sent after the original."""

    number: int
    trigger: Step
    step: Step

    @property
    def success(self) -> bool:
        return self.step.rank > self.trigger.rank


@dataclass
class Chain:
    """`stopped` is the `fate` word where the last attempt was not sent; `revenue` is of the wins, by currency.

    `told` is how many steps, from the first, can be told to be the original or a retry; `unshown` steps are counted and
    not shown; `hidden`: the outcome of some is unknown, `uncounted`: their number too, `undecided`: success too.
    """

    stream: str
    partner: str | None
    start: int
    steps: list[Step]
    not_sent: int = 0
    stopped: str | None = None
    revenue: dict[str, Decimal] = field(default_factory=dict)
    told: int | None = None
    unshown: int = 0
    hidden: bool = False
    uncounted: bool = False
    undecided: bool = False

    @property
    def attempts(self) -> int:
        return len(self.steps) + self.unshown

    @property
    def cancelled(self) -> int:
        return sum(step.cancelled for step in self.steps)

    @property
    def retried(self) -> bool:
        return any(True for _ in self.retries()) or (self.hidden and self.attempts - self.cancelled > 1)

    def retries(self) -> Iterator[Retry]:
        for number in range(1, len(self.steps) if self.told is None else self.told):
            if not self.steps[number].cancelled:
                yield Retry(number, self.steps[number - 1], self.steps[number])

    @property
    def recovered_by(self) -> int | None:
        """The number of the first retry that was better than the original."""
        return next((retry.number for retry in self.retries() if retry.step.rank > self.steps[0].rank), None)

    @property
    def fate(self) -> str | None:
        """What became of a chain whose original failed; None where it did not fail."""
        if self.hidden:
            return "unknown"
        if not self.steps or not self.steps[0].failed:
            return None
        if self.recovered_by is not None:
            return f"recovered_{self.recovered_by}"
        return self.stopped or ("exhausted" if list(self.retries()) else "not_retried")


def call_chain(call: Call) -> Chain:
    steps = [
        Step(row["ts"], row["outcome"], rank(row["outcome"]), row["latency_ms"], call.is_late(row)) for row in call.sent
    ]
    last = call.attempts[-1]
    stopped = None
    if last not in call.sent:
        stopped = "no_time" if last["not_sent"] == "no_time" else "stopped"
    chain = Chain("exchange", call.partner, call.start, steps, len(call.attempts) - len(steps), stopped)
    chain.unshown, chain.hidden, chain.uncounted = call.unshown, call.hidden, call.uncounted
    chain.told = 1 if call.hidden else None
    for notice in call.notices:
        if notice.kind == "win" and notice.first and notice.price is not None and notice.currency is not None:
            known = chain.revenue.get(notice.currency, Decimal(0))
            chain.revenue[notice.currency] = known + notice.price / 1000
    return chain


def order_chain(order: Order) -> Chain:
    steps = [Step(row["ts"], trigger(row), int(is_accepted(row)), row["latency_ms"]) for row in order.attempts]
    return Chain(
        "postback",
        order.partner,
        order.start,
        steps,
        told=order.untold if order.hidden else None,
        hidden=order.hidden,
        uncounted=order.hidden and order.untold != len(steps) - 1,
        undecided=order.untold is not None and not order.accepted,
    )


def chains(model: Model) -> list[Chain]:
    return [call_chain(call) for call in model.calls] + [
        order_chain(order) for order in read_orders(model.facts.postbacks)
    ]


def selected(model: Model, selection: Selection) -> list[Chain]:
    return [chain for chain in chains(model) if selection.takes(chain.start, chain.partner)]


def unknown_bidders(model: Model) -> set[str]:
    """Partners with an answer of which nobody knows whether it was a bid."""
    return {row["partner"] for row in model.facts.attempts if row["outcome"] == "answered_unknown"}


def calls(model: Model, selection: Selection) -> list[Row]:
    groups: dict[tuple[str, str | None], list[Chain]] = {}
    for chain in selected(model, selection):
        groups.setdefault((chain.stream, chain.partner), []).append(chain)
    return ordered((_calls_row(*key, group) for key, group in groups.items()), "stream", "partner")


def _calls_row(stream: str, partner: str | None, group: list[Chain]) -> Row:
    sent = [chain for chain in group if chain.attempts]
    attempts = sum(chain.attempts for chain in sent)
    hidden, uncounted = any(chain.hidden for chain in group), any(chain.uncounted for chain in group)
    steps = [step for chain in sent for step in chain.steps]
    judged = [step for step in steps if not step.cancelled]
    judged_calls = [chain for chain in sent if chain.attempts > chain.cancelled]
    retries = [retry for chain in sent for retry in chain.retries()]
    late = [retry.step.late for retry in retries if retry.step.late is not None]
    return {
        "stream": stream,
        "partner": partner,
        "calls": len(group),
        "calls_sent": len(sent),
        "attempts_sent": None if uncounted else attempts,
        "not_sent": sum(chain.not_sent for chain in group),
        "retries": None if uncounted else attempts - len(sent),
        "actual_success": None if hidden else ratio(sum(step.rank > 0 for step in judged), len(judged)),
        "effective_success": None
        if any(chain.undecided for chain in group)
        else ratio(sum(any(step.rank > 0 for step in chain.steps) for chain in judged_calls), len(judged_calls)),
        "amplification": None if uncounted else ratio(attempts, len(sent)),
        "retried": None if uncounted else sum(chain.retried for chain in sent),
        "recovered": None if hidden else sum(chain.recovered_by is not None for chain in sent),
        "late_retries": sum(late) if late else None,
        "late_checked": len(late),
    }


def retries(model: Model, selection: Selection) -> list[Row]:
    unknown = unknown_bidders(model)
    groups: dict[tuple[str, str | None, str, int], list[Retry]] = {}
    for chain in selected(model, selection):
        for retry in chain.retries():
            key = (chain.stream, chain.partner, retry.trigger.outcome, retry.number)
            groups.setdefault(key, []).append(retry)
    rows = []
    for (stream, partner, outcome, number), group in groups.items():
        successes = sum(retry.success for retry in group)
        low, high = wilson(successes, len(group), TWO_SIDED)
        blind = stream == "postback" or partner in unknown
        rows.append(
            {
                "stream": stream,
                "partner": partner,
                "trigger": outcome,
                "retry_no": number,
                "retries": len(group),
                "successes": successes,
                "bids": None if blind else sum(retry.step.outcome == "bid" for retry in group),
                "success_rate": successes / len(group),
                "success_low": low,
                "success_high": high,
            }
        )
    return ordered(rows, "stream", "partner", "trigger", "retry_no")


def fate(model: Model, selection: Selection) -> list[Row]:
    counts = Counter(
        (chain.stream, chain.partner, chain.fate) for chain in selected(model, selection) if chain.fate is not None
    )
    rows = [
        {"stream": stream, "partner": partner, "fate": word, "calls": count}
        for (stream, partner, word), count in counts.items()
    ]
    return ordered(rows, "stream", "partner", "fate")
