"""What the simulator knows of each thing it makes, as the truth is told of it.

Times are whole microseconds since the epoch, durations whole tenths of a millisecond, prices whole
ten-thousandths of the currency unit (CPM), so that nothing is lost to rounding while truth is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NOT_SENT = frozenset({"not_sent_breaker", "not_sent_limit"})
ANSWERED = frozenset({"no_bid", "answered_unknown", "bid", "accepted"})
RANK = {"no_bid": 1, "answered_unknown": 1, "accepted": 1, "bid": 2}
"""How good an outcome is; everything that is not named here ranks 0."""


def is_failure(outcome: str) -> bool:
    """True for the outcomes of the group *failure*."""
    return outcome not in ANSWERED and outcome not in NOT_SENT and outcome != "cancelled"


class Attempt:
    """One attempt (or one postback of an order) with the outcome that it was made to have."""

    __slots__ = (
        "fits",
        "late",
        "latency",
        "mark",
        "node",
        "number",
        "outcome",
        "overlong",
        "price",
        "reason",
        "reject",
        "request_id",
        "status",
        "stopped_by",
        "ts",
        "wait",
    )

    def __init__(
        self,
        ts: int,
        outcome: str,
        latency: int | None = None,
        *,
        late: bool | None = None,
        reason: str | None = None,
        reject: str | None = None,
        price: int | None = None,
        node: str = "",
        mark: str | None = None,
        stopped_by: str | None = None,
        status: int | None = None,
        wait: int | None = None,
        request_id: str | None = None,
        number: int = 1,
        fits: bool | None = None,
        overlong: bool | None = None,
    ) -> None:
        """`wait`: microseconds of its Retry-After. `fits`: there was time for it. `overlong`: its tmax was too long.

        The last two are None where a reader of the logs cannot tell.
        """
        self.ts = ts
        self.outcome = outcome
        self.latency = latency
        self.late = late
        self.reason = reason
        self.reject = reject
        self.price = price
        self.node = node
        self.mark = mark
        self.stopped_by = stopped_by
        self.status = status
        self.wait = wait
        self.request_id = request_id
        self.number = number
        self.fits = fits
        self.overlong = overlong


@dataclass(slots=True)
class Call:
    """All attempts of one auction to one partner, and the notices that were written for it."""

    partner: str
    attempts: list[Attempt]
    won: bool = False
    billing: bool = False
    impression: bool = False
    click: bool = False
    converted: bool = False
    loss_reason: str | None = None
    currency: str = "USD"
    revenue: int = 0
    """Sum of the known prices of its unique wins."""


@dataclass(slots=True)
class Auction:
    """One auction: what the generator decided before its calls, and the calls."""

    ts: int
    auction_id: str
    source: str
    placement: str
    region: str
    node: str
    budget: int
    """The auction's own deadline in ms."""
    shows_budget: bool
    """The attempts carry `budget_ms`."""
    has_event: bool
    event_shows_tmax: bool
    imps: int
    calls: list[Call] = field(default_factory=list)

    @property
    def budget_known(self) -> bool:
        """A reader of the logs can tell the deadline."""
        return self.shows_budget or (self.has_event and self.event_shows_tmax)

    @property
    def lies_at(self) -> int:
        """Its own event, else its first attempt."""
        if self.has_event:
            return self.ts
        return min(attempt.ts for call in self.calls for attempt in call.attempts)


@dataclass(slots=True)
class Postback:
    """One postback with the trigger name it was made to have, or `accepted`, and what its line tells."""

    ts: int
    outcome: str
    latency: int
    duplicate: bool = False
    """Accepted again: not the first acceptance of its conversion."""
    wait: int | None = None
    """Microseconds of its Retry-After."""
    error_code: str | None = None
    conversion_id: str | None = None
    marked: bool = False
    """The reply says `duplicate`."""
    replayed: bool = False
    """The reply says `idempotent_replay`."""
    amount: int | None = None
    """In hundredths."""
    currency: str | None = None
    body_hash: str | None = None
    signature: str | None = None
    stamp: int | None = None
    """`x_timestamp`, in microseconds."""
    idempotency_key: str | None = None
    client_hash: str | None = None
    limit: int | None = None
    window_s: int | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent the postbacks, where to, and for which order (None: for none)."""

    key_id: str
    endpoint: str | None
    tenant: str | None = None
    event_type: str = ""
    order_id: str | None = None
