"""The states that cross hours: reference breakers, 429s with Retry-After, and auctions that hammer a placement.

They are worked out in the order of time over the hours that a load touched, from what the hours before them store.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from ingest.models.parts import Parts
from ingest.settings import Settings
from ingest.states.columns import STATES, columns_sql, names_sql
from ingest.states.expected import Expected
from ingest.states.repeats import Repeats
from ingest.states.scope import CHUNK_ROWS, Scope, listed
from ingest.states.throttles import EXCHANGE, POSTBACK, Throttles

#: Relations whose touched hours move the states.
MOVED_BY = ("attempts", "postbacks", "auction_stages", "calls", "orders")


class States:
    """One load's recomputation of the state relations.

    `parts` hold the facts and the models that the states are made from as the load leaves them, `touched` tells by
    relation (MOVED_BY) the hours that it changed. With `first` no state row stands yet.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        parts: Parts,
        settings: Settings,
        touched: Mapping[str, set[int]],
        *,
        first: bool,
        chunk_rows: int = CHUNK_ROWS,
    ) -> None:
        self.scope = Scope(con, parts, settings, first, chunk_rows)
        self.touched = {relation: touched.get(relation, set()) for relation in MOVED_BY}

    def run(self) -> dict[str, set[int]]:
        """Rewrite what the load changed; gives the rewritten hours of each relation."""
        if not any(self.touched.values()):
            return {}
        con = self.scope.con
        con.execute("create schema if not exists states")
        for relation in STATES:
            con.execute(f"create or replace table states.none_{relation} ({columns_sql(relation)})")
        hours: dict[str, set[int]] = {}
        if touched := self.touched["attempts"]:
            hours["expected_pieces"] = Expected(self.scope).run(touched)
            self._write("expected_pieces", hours["expected_pieces"])
        if touched := self.touched["auction_stages"]:
            hours["repeats"] = hours["placement_tails"] = Repeats(self.scope).run(touched)
            self._write("placement_tails", hours["placement_tails"])
            self._write("repeats", hours["repeats"])
        hours |= self._throttles()
        con.execute("drop schema states cascade")
        return hours

    def _throttles(self) -> dict[str, set[int]]:
        throttles: dict[str, set[int]] = {}
        wasted: dict[str, set[int]] = {}
        for stream in (EXCHANGE, POSTBACK):
            touched, calls = self.touched[stream.relation], self.touched[stream.calls]
            if touched or calls:
                work = Throttles(self.scope, stream, touched)
                throttles[stream.name], wasted[stream.name] = work.run(calls)
        return {
            "throttles": self._write_streams("throttles", "found", throttles),
            "wasted_requests": self._write_streams("wasted_requests", "wasted", wasted),
        }

    def _write(self, relation: str, hours: set[int]) -> None:
        fresh = f"select {names_sql(relation)} from states.fresh_{relation}"
        self.scope.rewrite(relation, hours, fresh, f"hour_us not in {listed(hours)}")

    def _write_streams(self, relation: str, made: str, hours: dict[str, set[int]]) -> set[int]:
        """Write both streams at once; in an hour of one the rows of the other stay."""
        fresh = " union all ".join(f"select {names_sql(relation)} from states.{stream}_{made}" for stream in hours)
        gone = " or ".join(f"stream = '{stream}' and hour_us in {listed(own | {-1})}" for stream, own in hours.items())
        every = set().union(*hours.values())
        if every:
            self.scope.rewrite(relation, every, fresh, f"not ({gone})")
        return every
