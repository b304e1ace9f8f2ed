"""Reported breakers: the states that each node entered, made anew whole, and what was sent in each, hour by hour."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from ingest.models.parts import Part, Parts, scan
from ingest.models.relations import CUTS, HOUR_US, PIECES, model_sql

#: Spans [from, to) in which the state that a node entered last is not what it was: `{changed}` tells what matters.
_SPANS = """
with old_states as (
    select partner, coalesce(node, '') as node_key, us, state from {old}
    qualify row_number() over (partition by partner, node, us order by place desc) = 1
),
new_states as (
    select partner, coalesce(node, '') as node_key, us, state from breaker_states
    qualify row_number() over (partition by partner, node, us order by place desc) = 1
),
points as (
    select partner, node_key, us from old_states union select partner, node_key, us from new_states
),
spans as (
    select
        *,
        coalesce(lead(us) over (partition by partner, node_key order by us), 9223372036854775807) as to_us
    from points
)
select
    spans.partner, spans.node_key, spans.us as from_us, spans.to_us,
    case when coalesce(old_states.state, 'unknown') <> 'unknown' then old_states.state = 'open' end
        is distinct from case when coalesce(new_states.state, 'unknown') <> 'unknown' then new_states.state = 'open' end
        as judged_anew
from spans
asof left join old_states
    on spans.partner = old_states.partner and spans.node_key = old_states.node_key and spans.us >= old_states.us
asof left join new_states
    on spans.partner = new_states.partner and spans.node_key = new_states.node_key and spans.us >= new_states.us
where judged_anew or old_states.us is distinct from new_states.us
"""

#: Attempts by state of hours whose facts are gone, from whole minutes in which no state began: others are not known.
_OF_MINUTES = """
with spans as (
    select
        partner, coalesce(node, '') as node_key, us,
        coalesce(lead(us) over (partition by partner, node order by us, place), 9223372036854775807) as to_us
    from breaker_states
)
select
    minute_us // {hour} * {hour} as hour_us, counted.partner, counted.node, spans.us as from_us,
    coalesce(sum(attempts) filter (grp <> 'not_sent'), 0)::bigint as attempts,
    coalesce(sum(attempts) filter (grp = 'failure'), 0)::bigint as failures,
    coalesce(sum(attempts) filter (outcome = 'not_sent_breaker'), 0)::bigint as blocked,
    coalesce(sum(attempts) filter (grp = 'answered'), 0)::bigint as answered,
    coalesce(sum(attempts) filter (grp = 'cancelled'), 0)::bigint as cancelled
from {minutes} as counted
inner join outcomes using (outcome)
inner join spans
    on counted.partner = spans.partner and coalesce(counted.node, '') = spans.node_key
        and spans.us <= minute_us and spans.to_us >= minute_us + 60000000
where minute_us < {frozen}
group by all
"""


class Reported:
    """One load's recomputation of the reported breakers; `hour_nodes` and `breaker_marks` stand already.

    With `first`, nothing stood before.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, parts: Parts, *, first: bool) -> None:
        self.con, self.parts, self.first = con, parts, first

    def run(self, breaker_events: str, attempts: Iterable[Part], hours: set[int]) -> bool:
        """Make states and pieces anew, of facts in these `hours`; whether `states` has attempts judged again."""
        self._stand("hour_nodes")
        self._stand("breaker_marks")
        self.con.execute(f"create or replace view breaker_events as select * from {breaker_events}")
        if not self._told():
            self._stand("breaker_states")
            return False
        rejudged = self.states()
        self.pieces(attempts, hours)
        if self.first:
            self.recall()
        return rejudged

    def _told(self) -> bool:
        """Whether anything tells, or has told, of a breaker."""
        told = "select 1 from breaker_events union all select 1 from breaker_marks where marked = 1 limit 1"
        return bool(self.parts.of("breaker_states")) or self.con.execute(told).fetchone() is not None

    def states(self) -> bool:
        """Make the states anew; whether rule R7 has to look again at attempts that already stood (table `rejudged`).

        For R7 a state is open, not open or unknown.
        """
        self.con.execute(f"create or replace table breaker_states as {model_sql('breaker_states')}")
        before = self.parts.of("breaker_states")
        old = scan(self.parts.root, before or self.parts.empty("breaker_states"))
        self.con.execute(f"create or replace temp table changed as {_SPANS.format(old=old)}")
        states = "select partner, node, state, us, place from"
        if self.con.execute(
            f"({states} breaker_states except {states} {old}) union all ({states} {old} except {states} breaker_states)"
        ).fetchone():
            self.parts.replace("breaker_states", "select * from breaker_states")
        lo, hi = self.con.execute("select min(from_us), max(to_us) from changed where judged_anew").fetchall()[0]
        if lo is None or self.first:
            return False
        near = [part for part in self.parts.of("attempts") if part.hi_us >= lo and part.lo_us <= hi]
        if not near:
            return False
        self.con.execute(
            f"create or replace table rejudged as select distinct auction_id"
            f" from {scan(self.parts.root, near)} as attempts inner join changed"
            " on attempts.partner = changed.partner and coalesce(attempts.node, '') = changed.node_key"
            " and epoch_us(attempts.ts) > changed.from_us and epoch_us(attempts.ts) <= changed.to_us"
            " where changed.judged_anew"
        )
        return self.con.execute("select 1 from rejudged limit 1").fetchone() is not None

    def pieces(self, attempts: Iterable[Part], hours: set[int]) -> None:
        """Count the attempts of each state anew: in `hours`, and where a node's states became other ones."""
        self.con.execute("create or replace temp table moved_hours (hour_us bigint)")
        if hours:
            self.con.executemany("insert into moved_hours values (?)", [(hour,) for hour in sorted(hours)])
        self.con.execute(
            "create or replace temp table moved as select distinct partner, coalesce(node, '') as node_key, hour_us"
            " from hour_nodes where partner in (select partner from changed union select partner from breaker_states)"
            " and (hour_us in (from moved_hours) or exists (select 1 from changed"
            " where changed.partner = hour_nodes.partner and changed.node_key = coalesce(hour_nodes.node, '')"
            f" and changed.from_us < hour_nodes.hour_us + {HOUR_US} and changed.to_us > hour_nodes.hour_us))"
        )
        found = {int(hour) for (hour,) in self.con.execute("select distinct hour_us from moved").fetchall()}
        found = {hour for hour in found if hour >= self.parts.frozen_us}
        if not found:
            return
        lo, hi = min(found), max(found) + HOUR_US
        near = [part for part in attempts if part.hi_us >= lo and part.lo_us < hi]
        self.con.execute("create schema pieces; set search_path = 'pieces,main'")
        self.con.execute(
            f"create view pieces.attempts as select data.* from {scan(self.parts.root, near)} as data"
            " semi join moved on data.partner = moved.partner and coalesce(data.node, '') = moved.node_key"
            f" and epoch_us(data.ts) // {HOUR_US} * {HOUR_US} = moved.hour_us"
            f" where data.ts >= make_timestamp({lo}) and data.ts < make_timestamp({hi})"
        )
        kept = (
            "not exists (select 1 from moved where moved.partner = old.partner"
            " and moved.node_key = coalesce(old.node, '') and moved.hour_us = old.hour_us)"
        )
        for name in CUTS:
            self.con.execute(f"create table pieces.{name} as {model_sql(name)}")
        for name in PIECES:
            self.parts.rewrite(name, found, fresh=model_sql(name), keep=kept, by_day=True)
        self.con.execute("set search_path = 'main'; drop schema pieces cascade")

    def recall(self) -> None:
        """Where no piece is left of the hours whose facts are gone, make them of the minutes that are."""
        frozen, held = self.parts.frozen_us, self.parts.of("minute_attempts")
        if not frozen or not held or any(part.unit_us < frozen for part in self.parts.of("breaker_pieces")):
            return
        rows = _OF_MINUTES.format(hour=HOUR_US, minutes=scan(self.parts.root, held), frozen=frozen)
        self.con.execute(f"create or replace temp table recalled as {rows}")
        hours = {int(hour) for (hour,) in self.con.execute("select distinct hour_us from recalled").fetchall()}
        self.parts.frozen_us = 0
        self.parts.rewrite("breaker_pieces", hours, fresh="select * from recalled", keep="true", by_day=True)
        self.parts.frozen_us = frozen

    def _stand(self, relation: str) -> None:
        """Let the stored rows of `relation` go by its name."""
        parts = self.parts.of(relation) or self.parts.empty(relation)
        self.con.execute(f"create or replace view {relation} as select * from {scan(self.parts.root, parts)}")
