"""429s and what followed them: whether the sender waited as `Retry-After` asked."""

from dataclasses import dataclass

from .calls import Model, is_sent
from .lines import Row
from .orders import order_key, read_orders
from .selection import Selection, ordered
from .values import wait_us

SECOND = 1_000_000
Group = tuple[str, str | None, str | None]
"""(stream, key, endpoint): who is asked to wait, and where."""


@dataclass
class Request:
    """A request that was sent; `unit_ts` is the first instant of its call or order, its own where it has none."""

    row: Row
    group: Group
    unit_ts: int
    limited: bool

    @property
    def ts(self) -> int:
        return int(self.row["ts"])

    @property
    def answered_at(self) -> int:
        """When the answer was there, from which a wait is counted; the request's own instant if nobody knows."""
        return self.ts + int((self.row["latency_ms"] or 0) * 1_000)

    @property
    def wait(self) -> int | None:
        """What a 429 asked for, in microseconds from `answered_at`; None where it asked for nothing."""
        if not self.limited or self.row["retry_after"] is None:
            return None
        return wait_us(self.row["retry_after"], self.answered_at)


def requests(model: Model) -> list[Request]:
    """All attempts that were sent and all postbacks, by ts."""
    found = [
        Request(row, ("exchange", call.partner, None), call.start, row["outcome"] == "rate_limited")
        for call in model.calls
        for row in call.attempts
        if is_sent(row)
    ]
    starts = {order.key: order.start for order in read_orders(model.facts.postbacks)}
    for row in model.facts.postbacks:
        unit_ts = starts.get(order_key(row), row["ts"])
        found.append(Request(row, ("postback", row["key_id"], row["endpoint"]), unit_ts, row["http_status"] == 429))
    return sorted(found, key=lambda request: request.ts)


def newest(model: Model, stream: str) -> int:
    """The newest instant of a stream's data."""
    return max(row["ts"] for row in (model.facts.attempts if stream == "exchange" else model.facts.postbacks))


def compliance(model: Model, throttle: Request, wait: int, of_group: list[Request]) -> str:
    """`early`, `on_time`, `late`, `never` or `pending`: the request that followed a 429 with `Retry-After`."""
    begins = throttle.answered_at
    in_time = max(begins + 2 * wait, begins + wait + SECOND)
    following = next((request for request in of_group if request.ts > begins), None)
    if following is None:
        return "never" if newest(model, throttle.group[0]) > in_time else "pending"
    if following.ts < begins + wait - SECOND:
        return "early"
    return "on_time" if following.ts <= in_time else "late"


def judged(model: Model) -> list[tuple[Request, str | None]]:
    """Every 429 with what followed it, None where it asked for no wait."""
    by_group: dict[Group, list[Request]] = {}
    for request in requests(model):
        by_group.setdefault(request.group, []).append(request)
    return [
        (request, None if request.wait is None else compliance(model, request, request.wait, group))
        for group in by_group.values()
        for request in group
        if request.limited
    ]


def wasted(model: Model) -> list[Request]:
    """The requests that came while a wait of their key and endpoint still had more than a second to go, each once."""
    every = requests(model)
    waits = [
        (request.group, request.answered_at, request.answered_at + request.wait - SECOND)
        for request in every
        if request.wait is not None
    ]
    return [
        request
        for request in every
        if any(group == request.group and begin < request.ts < end for group, begin, end in waits)
    ]


def retry_after(model: Model, selection: Selection) -> list[Row]:
    """A 429 and a wasted request lie at their own ts."""
    groups: dict[Group, Row] = {}

    def row_of(group: Group) -> Row:
        names = ("limited", "with_retry_after", "early", "on_time", "late", "never", "pending", "wasted")
        keys = dict(zip(("stream", "key", "endpoint"), group, strict=True))
        return groups.setdefault(group, keys | dict.fromkeys(names, 0))

    for request, word in judged(model):
        if selection.takes(request.ts, request.group[1]):
            row = row_of(request.group)
            row["limited"] += 1
            if word is not None:
                row["with_retry_after"] += 1
                row[word] += 1
    for request in wasted(model):
        if selection.takes(request.ts, request.group[1]):
            row_of(request.group)["wasted"] += 1
    return ordered(groups.values(), "stream", "key", "endpoint")
