"""Truth of the auctions that one placement starts in a row (rule R9)."""

from __future__ import annotations

from collections import defaultdict

from ingest.simulate.records import Auction
from ingest.simulate.stats import SECOND_US
from ingest.simulate.truth.audit import AuditTruth

IN_A_ROW = 3


class RepeatTruth:
    """Remembers when each placement asked, and whether anybody bid."""

    def __init__(self) -> None:
        self.auctions: defaultdict[tuple[str, str], list[tuple[int, str, bool]]] = defaultdict(list)

    def auction(self, auction: Auction) -> None:
        """One auction with its calls and proofs."""
        if auction.source and auction.placement:
            empty = not any(
                call.won
                or call.billing
                or call.click
                or call.converted
                or any(attempt.outcome == "bid" for attempt in call.attempts)
                for call in auction.calls
            )
            place = auction.source, auction.placement
            self.auctions[place].append((auction.lies_at, auction.auction_id, empty))

    def tell(self, audit: AuditTruth) -> None:
        """The verdict on each auction that follows three empty ones."""
        for auctions in self.auctions.values():
            auctions.sort()
            run, before = 0, 0
            for ts, _, empty in auctions:
                if run >= IN_A_ROW:
                    audit.judge("R9", "exchange", None, ts - before <= SECOND_US)
                run = run + 1 if empty else 0
                before = ts
