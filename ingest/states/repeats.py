"""repeats: auctions of a placement that follow empty ones, with the row of empties before each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import ClassVar

from ingest.states.columns import names_sql
from ingest.states.scope import Scope
from ingest.states.walk import Walk


class Repeats(Walk):
    """Counts, in each (source, placement), the auctions in a row that ended without winner and bid."""

    relation: ClassVar[str] = "auction_stages"
    stored: ClassVar[str] = "placement_tails"
    group: ClassVar[str] = "source, placement"
    tail: ClassVar[dict[str, str]] = {
        name: f"arg_max({name}, hour_us)" for name in ("last_us", "last_auction_id", "run")
    }

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        scope.create("fresh_repeats", "repeats")
        self._sql = files("ingest.states").joinpath("repeats.sql").read_text(encoding="utf-8")

    def replay(self, hours: Sequence[int]) -> None:
        con = self.scope.con
        con.execute(f"create or replace view states.auctions as select * from {self.scope.read(self.relation, hours)}")
        con.execute(f"create or replace table states.tails as {self.states_before(hours[0])}")
        con.execute(f"create or replace table states.rows_of_placements as {self._sql}")
        con.execute(
            f"insert into states.fresh_repeats select {names_sql('repeats')} from states.rows_of_placements"
            " where run > 0 and hour_us is not null"
        )
        con.execute(
            f"insert into states.fresh_{self.stored} select hour_us, source, placement, us, auction_id, run_after"
            " from states.rows_of_placements where is_last and hour_us is not null"
        )
