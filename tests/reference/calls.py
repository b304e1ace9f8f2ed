"""Auctions, calls and notices, joined over all data: the state that every table about calls selects from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .lines import DAY, Facts, Row
from .outcomes import ANSWERED, NOT_SENT, rank

CALL_SPAN = 600_000_000
NOTICE_BEFORE, NOTICE_AFTER = 7 * DAY, 60_000_000
RESERVE_MS = 40


@dataclass(frozen=True)
class Limits:
    """Settings of the reference breaker of one partner."""

    window_s: int = 30
    min_attempts: int = 20
    failure_share: float = 0.5
    open_s: int = 30


def is_sent(attempt: Row) -> bool:
    return attempt["outcome"] not in NOT_SENT


@dataclass
class Auction:
    """What the auction events of one id say: its own instant, the first tmax, winner and place known.

    A source or placement that no event told is that of the first attempt.
    """

    auction_id: str
    ts: int | None = None
    tmax_ms: Decimal | None = None
    winner: str | None = None
    winner_ts: int = 0
    source: str | None = None
    placement: str | None = None
    calls: list["Call"] = field(default_factory=list)

    @property
    def lies_at(self) -> int:
        """The instant that filters judge: the auction's own event, else its first attempt."""
        return self.ts if self.ts is not None else min(call.start for call in self.calls)


@dataclass
class Notice:
    """One delivery; `first` marks the first of its notice, `price` and `currency` are the first known of the notice."""

    row: Row
    partner: str | None
    call: "Call | None" = None
    first: bool = False
    price: Decimal | None = None
    currency: str | None = None

    @property
    def ts(self) -> int:
        return int(self.row["ts"])

    @property
    def kind(self) -> str:
        return str(self.row["event"])


@dataclass
class Call:
    """All attempts of one auction to one partner within 10 minutes of its first, in order."""

    auction: Auction
    partner: str
    attempts: list[Row]
    notices: list[Notice] = field(default_factory=list)
    is_winner: bool = False

    @property
    def start(self) -> int:
        return int(self.attempts[0]["ts"])

    @property
    def sent(self) -> list[Row]:
        return [attempt for attempt in self.attempts if is_sent(attempt)]

    @property
    def answered(self) -> list[Row]:
        return [attempt for attempt in self.attempts if attempt["outcome"] in ANSWERED]

    @property
    def unshown(self) -> int:
        """Earlier attempts that the log counts and does not show."""
        return sum(
            row["attempt_count"] - 1 for row in self.attempts if row["last_only"] and (row["attempt_count"] or 0) > 1
        )

    @property
    def uncounted(self) -> bool:
        """Whether some attempt is the last of an unknown number."""
        return any(row["last_only"] and row["attempt_count"] is None for row in self.sent)

    @property
    def hidden(self) -> bool:
        return self.uncounted or self.unshown > 0

    @property
    def bids(self) -> list[Row]:
        return [attempt for attempt in self.attempts if attempt["outcome"] == "bid"]

    def has(self, kind: str) -> bool:
        return any(notice.kind == kind for notice in self.notices)

    def is_late(self, attempt: Row) -> bool | None:
        """Whether the answer came after the budget less the reserve; None where that cannot be judged."""
        budget = attempt["budget_ms"] if attempt["budget_ms"] is not None else self.auction.tmax_ms
        elapsed, latency = attempt["elapsed_ms"], attempt["latency_ms"]
        if budget is None or elapsed is None or latency is None:
            return None
        return bool(elapsed + latency > budget - RESERVE_MS)


def attempt_order(attempt: Row) -> tuple[Any, ...]:
    number, request = attempt["attempt"], attempt["request_id"]
    return (
        attempt["ts"],
        (number is None, number or 0),
        (request is None, request or ""),
        rank(attempt["outcome"]),
        repr(sorted(attempt.items())),
    )


class Model:
    """The facts, joined; `breakers` are the limits by partner, those under None of every other."""

    def __init__(self, facts: Facts, breakers: Mapping[str | None, Limits] | None = None) -> None:
        self.facts = facts
        self.breakers = {None: Limits()} if breakers is None else breakers
        self.auctions: dict[str, Auction] = {}
        for row in sorted(facts.auctions, key=lambda row: int(row["ts"])):
            self._read_auction(row)
        self.calls = self._group_calls()
        for auction in self.auctions.values():
            if auction.calls:
                first = min((call.attempts[0] for call in auction.calls), key=attempt_order)
                auction.source = auction.source or first["source"]
                auction.placement = auction.placement or first["placement"]
        self.notices = self._read_notices()
        for auction in self.auctions.values():
            won = self._call_of(auction.auction_id, auction.winner, auction.winner_ts)
            if won is not None:
                won.is_winner = True

    def _auction(self, auction_id: str) -> Auction:
        return self.auctions.setdefault(auction_id, Auction(auction_id))

    def _read_auction(self, row: Row) -> None:
        auction = self._auction(row["auction_id"])
        if auction.ts is None:
            auction.ts = row["ts"]
        if auction.tmax_ms is None:
            auction.tmax_ms = row["tmax_ms"]
        if auction.winner is None and row["winner"] is not None:
            auction.winner, auction.winner_ts = row["winner"], row["ts"]
        auction.source, auction.placement = auction.source or row["source"], auction.placement or row["placement"]

    def _group_calls(self) -> list[Call]:
        calls: list[Call] = []
        latest: dict[tuple[str, str], Call] = {}
        for attempt in sorted(self.facts.attempts, key=attempt_order):
            key = (attempt["auction_id"], attempt["partner"])
            call = latest.get(key)
            if call is None or attempt["ts"] > call.start + CALL_SPAN:
                call = latest[key] = Call(self._auction(attempt["auction_id"]), attempt["partner"], [])
                calls.append(call)
                call.auction.calls.append(call)
            call.attempts.append(attempt)
        return calls

    def _call_of(self, auction_id: str, partner: str | None, ts: int) -> Call | None:
        """The latest call of the auction and partner that began at most 7 days before and 1 minute after."""
        near = [
            call
            for call in self.calls
            if call.auction.auction_id == auction_id
            and call.partner == partner
            and ts - NOTICE_BEFORE <= call.start <= ts + NOTICE_AFTER
        ]
        return max(near, key=lambda call: call.start, default=None)

    def _partner_of(self, row: Row) -> str | None:
        if row["partner"] is not None:
            return str(row["partner"])
        auction = self.auctions.get(row["auction_id"])
        if auction is None:
            return None
        bidders = {call.partner for call in auction.calls if call.bids}
        return auction.winner or (bidders.pop() if len(bidders) == 1 else None)

    def _read_notices(self) -> list[Notice]:
        """All deliveries by ts: the partner is resolved first, then each notice is counted once."""
        notices = [Notice(row, self._partner_of(row)) for row in sorted(self.facts.notices, key=lambda row: row["ts"])]
        same: dict[tuple[Any, ...], list[Notice]] = {}
        for notice in notices:
            notice.call = self._call_of(notice.row["auction_id"], notice.partner, notice.ts)
            if notice.call is not None:
                notice.call.notices.append(notice)
            key = (notice.row["auction_id"], notice.row["imp_id"], notice.partner, notice.kind)
            same.setdefault(key, []).append(notice)
        for deliveries in same.values():
            deliveries[0].first = True
            priced = next((notice.row for notice in deliveries if notice.row["price"] is not None), None)
            if priced is not None:
                for notice in deliveries:
                    notice.price, notice.currency = priced["price"], priced["currency"] or "USD"
        return notices
