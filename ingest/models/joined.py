"""Which auctions converted: clicks of the exchange pass brought together with those of accepted orders.

A load joins anew the auctions that it touched, and those of which a click stands on an order that it touched: a click
and its order may come in either turn, days apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import duckdb

from ingest.models.parts import Parts, scan
from ingest.models.relations import ORDERS, model_sql


class Joined:
    """One load's recomputation of `converted`.

    `touched` tells by relation the hours that the keyed passes wrote anew; the tables `touched_exchange` and
    `touched_orders` hold the keys, where these passes had any. With `first`, nothing stood before.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, parts: Parts, touched: Mapping[str, Set[int]], *, first: bool
    ) -> None:
        self.con, self.parts, self.touched, self.first = con, parts, touched, first

    def run(self) -> set[int]:
        """Write what changed; gives the hours that were written anew."""
        self._pick()
        hours = self._hours("select distinct hour_us from rejoined")
        if not hours:
            return set()
        near = self._some("auction_clicks", hours)
        self.con.execute(
            f"create or replace view auction_clicks as select * from {near} semi join rejoined using (auction_id)"
        )
        self.con.execute(f"create or replace view order_clicks as select * from {self._all('order_clicks')}")
        self.con.execute(f"create or replace table converted as {model_sql('converted')}")
        kept = "not exists (select 1 from rejoined where rejoined.auction_id = old.auction_id)"
        self.parts.rewrite("converted", hours, fresh="select * from converted", keep=kept, by_day=True)
        self.con.execute("drop table converted; drop view auction_clicks; drop view order_clicks")
        return hours

    def _pick(self) -> None:
        """Make `rejoined`: the auctions with a click to look at, where they lie and where they lay."""
        clicks, before = "select auction_id, hour_us from {} as clicks", []
        if self.first:
            before.append(clicks.format(self._all("auction_clicks")))
        if not self.first and (hours := self.touched.get("auction_clicks")):
            ours = " semi join touched_exchange on auction_id = touched_exchange.key_auction_id"
            before += [clicks.format(self._some(name, hours)) + ours for name in ("auction_clicks", "converted")]
        if not self.first and (hours := self.touched.get("order_clicks")):
            old = f"{self._some('order_clicks', hours)} as old semi join touched_orders as touched on {ORDERS.is_old}"
            self.con.execute(f"create or replace temp table came_back as select distinct click_id from {old}")
            before.append(f"{clicks.format(self._all('auction_clicks'))} semi join came_back using (click_id)")
        picked = " union ".join(before or [f"{clicks.format(self._all('auction_clicks'))} limit 0"])
        self.con.execute(f"create or replace temp table rejoined as {picked}")

    def _hours(self, sql: str) -> set[int]:
        found = {int(hour) for (hour,) in self.con.execute(sql).fetchall()}
        return {hour for hour in found if hour >= self.parts.frozen_us}

    def _all(self, relation: str) -> str:
        return scan(self.parts.root, self.parts.of(relation) or self.parts.empty(relation))

    def _some(self, relation: str, hours: Set[int]) -> str:
        held = self.parts.covering(relation, set(hours))
        return scan(self.parts.root, held or self.parts.empty(relation))
