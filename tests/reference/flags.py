"""Retries to disable: each partner and trigger of the window, with the roll-ups."""

from dataclasses import dataclass
from decimal import Decimal

from .calls import Model
from .lines import DAY, Row
from .retries import ONE_SIDED, Chain, Retry, chains, unknown_bidders, wilson
from .selection import Selection, ordered
from .values import iso

FORBIDDEN = {("exchange", "no_bid"), ("exchange", "client_error"), ("postback", "client_error")}


@dataclass
class Window:
    """What a flag counts, in microseconds: `start` and `end` belong to it, but for an `end` set by a filter."""

    start: int
    end: int
    is_open: bool
    days: float

    def holds(self, ts: int) -> bool:
        return self.start <= ts and (ts < self.end if self.is_open else ts <= self.end)


def window(events: list[int], selection: Selection) -> Window:
    """The 7 days up to and with the newest of a stream's events, or up to `to`, narrowed by `frm`."""
    if selection.to is None:
        found = Window(max(events) - 7 * DAY + 1, max(events), False, 1.0)
    else:
        found = Window(selection.to - 7 * DAY, selection.to, True, 1.0)
    if selection.frm is not None:
        found.start = max(found.start, selection.frm)
    inside = [ts for ts in events if found.holds(ts)]
    if inside:
        found.days = max(1.0, (found.end - min(inside)) / DAY)
    return found


def verdict(stream: str, partner: str, trigger: str, n: int, successes: int, upper: float) -> str:
    if partner != "*" and (stream, trigger) in FORBIDDEN:
        return "never"
    if n >= 50 and upper < 0.05:
        return "disable"
    if n >= 10 and successes / n < 0.05:
        return "watch"
    return "too_few" if n < 10 else "keep"


def flags(model: Model, selection: Selection) -> list[Row]:
    """One row for every partner and trigger with a retry in the window, and `*` for all partners or triggers."""
    streams = {
        "exchange": [row["ts"] for row in model.facts.attempts],
        "postback": [row["ts"] for row in model.facts.postbacks],
    }
    rows: list[Row] = []
    for stream, events in streams.items():
        if not events:
            continue
        span = window(events, selection)
        groups: dict[tuple[str, str], list[tuple[Chain, Retry]]] = {}
        for chain in chains(model):
            if chain.stream != stream or not span.holds(chain.start) or not selection.of(chain.partner):
                continue
            for retry in chain.retries():
                for partner in {chain.partner} | ({"*"} if selection.partners is None else set()):
                    for trigger in (retry.trigger.outcome, "*"):
                        groups.setdefault((partner, trigger), []).append((chain, retry))
        rows += [_row(model, stream, *key, group, span.days) for key, group in groups.items()]
    return ordered(rows, "stream", "partner", "trigger")


def _row(model: Model, stream: str, partner: str, trigger: str, group: list[tuple[Chain, Retry]], days: float) -> Row:
    n = len(group)
    won = [retry for _, retry in group if retry.success]
    upper = wilson(len(won), n, ONE_SIDED)[1]
    latencies = [retry.step.latency_ms for _, retry in group if retry.step.latency_ms is not None]
    blind = stream == "postback" or any(chain.partner in unknown_bidders(model) for chain, _ in group)
    return {
        "stream": stream,
        "partner": partner,
        "trigger": trigger,
        "retries": n,
        "successes": len(won),
        "upper_bound": upper,
        "verdict": verdict(stream, partner, trigger, n, len(won), upper),
        "last_success": iso(max((retry.step.ts for retry in won), default=None)),
        "retries_per_day": n / days,
        "ms_saved_per_day": float(sum(latencies)) / days if latencies else None,
        "bids_at_risk": None if blind else sum(retry.step.outcome == "bid" for _, retry in group),
        "revenue_at_risk": None if stream == "postback" else revenue_at_risk(group),
    }


def revenue_at_risk(group: list[tuple[Chain, Retry]]) -> dict[str, float]:
    """By currency, the wins of calls whose last bid came on one of these retries."""
    total: dict[str, Decimal] = {}
    for chain, retry in group:
        bids = [step for step in chain.steps if step.outcome == "bid"]
        if bids and bids[-1] is retry.step:
            for currency, amount in chain.revenue.items():
                total[currency] = total.get(currency, Decimal(0)) + amount
    return {currency: float(amount) for currency, amount in sorted(total.items())}
