"""Truth of the notices: unique ones, deliveries and money."""

from __future__ import annotations

from collections import defaultdict

from ingest.simulate.truth.retries import Row

PAID_KINDS = frozenset({"win", "billing"})


class NoticeTruth:
    """Counts every unique notice once, with its deliveries."""

    def __init__(self) -> None:
        self.tallies: defaultdict[tuple[str, str | None, str | None], list[int]] = defaultdict(lambda: [0, 0, 0, 0])

    def notice(
        self, kind: str, partner: str | None, deliveries: int, currency: str | None, price: int, orphan: bool
    ) -> None:
        """One unique notice; `currency` is None where no delivery has a price."""
        tally = self.tallies[kind, partner, currency]
        tally[0] += 1
        tally[1] += deliveries
        tally[2] += orphan
        tally[3] += price

    def kinds(self) -> set[str]:
        """The kinds that were written at all."""
        return {kind for kind, _, _ in self.tallies}

    def rows(self) -> list[Row]:
        """Rows of the table `notices`."""
        return [
            {
                "kind": kind,
                "partner": partner,
                "currency": currency,
                "unique": unique,
                "deliveries": deliveries,
                "duplicates": deliveries - unique,
                "orphans": orphans,
                "revenue": price / 10_000_000 if kind in PAID_KINDS and currency is not None else None,
                "without_price": unique if currency is None else 0,
            }
            for (kind, partner, currency), (unique, deliveries, orphans, price) in sorted(
                self.tallies.items(), key=lambda item: tuple(part or "" for part in item[0])
            )
        ]
