"""Recompute what a load touched: hourly models by hour, keyed ones by key, states from an hour on, cubes by hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from ingest.facts.columns import COLUMNS
from ingest.models.joined import Joined
from ingest.models.parts import Part, Parts, lying_in, quote_name, scan
from ingest.models.relations import CUBES, DAY_US, EXCHANGE, HOUR_US, HOURLY, KEYED, WINDOWS, Cube, Keyed, model_sql
from ingest.models.reported import Reported
from ingest.models.slices import Slices
from ingest.settings import Settings
from ingest.states import States

#: Facts from which on a keyed pass goes by slices, and writes its rows beside the old ones instead of among them.
LARGE_ROWS = 100_000

#: What the model of the windows reads of postbacks: a column of which has a name that not every engine takes.
WINDOW_POSTBACKS = 'select ts, key_id, client_hash, endpoint, window_s, "limit" as allowed, outcome'

#: The hour of a fact.
_HOUR = f"epoch_us(ts) // {HOUR_US} * {HOUR_US}"


class Build:
    """One load's recomputation, on a connection whose tables `stage_<relation>` hold the new facts.

    `parts` already contains the new facts' files; models are written through it.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, parts: Parts, settings: Settings, *, first: bool) -> None:
        self.con = con
        self.parts = parts
        self.settings = settings
        self.first = first
        self.touched: dict[str, set[int]] = {}
        con.execute(
            "create or replace table settings as select"
            f" {settings.call_span_s * 1_000_000}::bigint as call_span_us,"
            f" {settings.reserve_ms}::double as reserve_ms,"
            f" {settings.notice_days * 24 * HOUR_US}::bigint as notice_us"
        )

    def run(self, *, billing: bool, billing_is_new: bool) -> None:
        """Recompute every model.

        `billing`: the data has a billing notice (impressions stand in for them otherwise); `billing_is_new`: since
        this load, so that calls which impressions had proved are judged again.
        """
        self.con.execute(f"create or replace table evidence as select {int(billing)}::bigint as billing")
        self._hourly()
        self._windows()
        reported = Reported(self.con, self.parts, first=self.first)
        rejudged = reported.run(self._facts("breaker_events"), self.parts.of("attempts"), self.touched["attempts"])
        for keyed in KEYED:
            also = self._also_touched(billing_is_new, rejudged) if keyed is EXCHANGE else []
            self._keyed(keyed, also)
        self.touched["converted"] = Joined(self.con, self.parts, self.touched, first=self.first).run()
        self._states()
        for cube in CUBES:
            self._cube(cube)

    def _also_touched(self, billing_is_new: bool, rejudged: bool) -> list[str]:
        """Selects of auctions to judge again, though no new fact bears their id."""
        picked = []
        if billing_is_new and (notices := self.parts.of("notices")):
            picked.append(
                f"select auction_id as key_auction_id from {scan(self.parts.root, notices)} where kind = 'impression'"
            )
        if rejudged:
            picked.append("select auction_id as key_auction_id from main.rejudged")
        return picked

    def _keyed(self, keyed: Keyed, also: Sequence[str]) -> None:
        """Recompute the stored models of `keyed` for the keys that the staged facts carry, and those of `also`."""
        self.con.execute(f"create schema if not exists {keyed.name}")
        self.con.execute(f"set search_path = '{keyed.name},main'")
        if also or any(self._count(f"main.stage_{relation}") for relation in keyed.keys):
            self._touch(keyed, also)
            self.con.execute(f"create or replace table main.touched_{keyed.name} as from {keyed.name}.touched")
            if keyed.sliced_by is not None and self._facts_of(keyed) > LARGE_ROWS:
                self._sliced(keyed)
            else:
                self._inputs(keyed)
                self._steps(keyed)
                near = self._fact_hours(keyed)
                for relation in keyed.stored:
                    self._replace(keyed, relation, near)
        self.con.execute("set search_path = 'main'")
        self.con.execute(f"drop schema {keyed.name} cascade")

    def _steps(self, keyed: Keyed) -> None:
        for step in keyed.steps:
            self.con.execute(f"create or replace table {keyed.name}.{step} as {model_sql(step)}")

    def _facts_of(self, keyed: Keyed) -> int:
        """About how many facts a pass takes: the new ones, or as many as keys are touched."""
        touched = self._count(f"{keyed.name}.touched")
        return max(touched, sum(self._count(f"main.stage_{relation}") for relation in keyed.keys))

    def _sliced(self, keyed: Keyed) -> None:
        """A large pass: its rows are written slice by slice."""
        keyed_facts, lone_facts = {}, {}
        for relation, keys in keyed.keys.items():
            columns = ", ".join(quote_name(name) for name, _ in COLUMNS[relation])
            keyed_facts[relation] = f"select {columns} from {self._facts(relation)}"
            if not self.first:
                keyed_facts[relation] += f" semi join {keyed.name}.touched on {keyed.is_touched(keys)}"
            lone_facts[relation] = f"select {columns} from main.stage_{relation} where {keys[keyed.needed]} is null"
        slices = Slices(self.parts, keyed, keyed_facts, lone_facts)
        slices.run()
        for relation in keyed.stored:
            hours = slices.store(relation, self._old_hours(keyed, self.parts.of(relation)), self._keep(keyed))
            self.touched[relation] = self.touched.get(relation, set()) | hours
        slices.close()

    def _touch(self, keyed: Keyed, also: Sequence[str]) -> None:
        picked = []
        for relation, keys in keyed.keys.items():
            named = ", ".join(f"{sql} as key_{name}" for name, sql in keys.items())
            picked.append(f"select {named} from main.stage_{relation} where {keys[keyed.needed]} is not null")
            if beside := keyed.beside.get(relation):
                picked.append(f"select {beside} from main.stage_{relation} where {beside} is not null")
        if self.first:  # no row stands yet that a key would replace
            picked = [f"{one} limit 0" for one in picked]
        union = " union ".join(f"({one})" for one in (*picked, *also))
        self.con.execute(f"create or replace table {keyed.name}.touched as {union}")

    def _inputs(self, keyed: Keyed) -> None:
        """The facts of the touched keys, old and new; facts that have no key are taken once, when they are new."""
        for relation, keys in keyed.keys.items():
            if self.first:
                self.con.execute(
                    f"create or replace view {keyed.name}.{relation} as select * from main.stage_{relation}"
                )
                continue
            same = keyed.is_touched(keys)
            columns = ", ".join(quote_name(name) for name, _ in COLUMNS[relation])
            facts = self._facts(relation)
            picked = f"select {columns} from {facts} semi join touched on {same}"
            if beside := keyed.beside.get(relation):
                near = f"select {columns} from {facts} semi join touched on {beside} = touched.key_{keyed.needed}"
                picked += f" union all select {columns} from ({near}) anti join touched on {same}"
            self.con.execute(
                f"create or replace table {keyed.name}.{relation} as {picked}"
                f" union all select {columns} from main.stage_{relation} where {keys[keyed.needed]} is null"
            )

    def _facts(self, relation: str) -> str:
        """Where all facts of `relation` stand: the stage itself while there are no others."""
        if self.first:
            return f"main.stage_{relation}"
        return scan(self.parts.root, self.parts.of(relation) or self.parts.empty(relation))

    def _facts_in(self, relation: str, hours: set[int]) -> str:
        """Where the facts of `hours` stand, beside others: no part is read that has none of them."""
        if self.first:
            return f"main.stage_{relation}"
        near = lying_in(hours, self.parts.of(relation)) or self.parts.empty(relation)
        span = f"ts >= make_timestamp({min(hours)}) and ts < make_timestamp({max(hours) + HOUR_US})"
        return f"(select * from {scan(self.parts.root, near)} where {span})"

    def _replace(self, keyed: Keyed, relation: str, near: set[int]) -> None:
        """Rewrite the parts of `relation` where rows of touched keys stood or now stand: in the hours `near`."""
        fresh = f"select * from {keyed.name}.{relation}"
        if keyed.beside and not self.first:
            ours = f"exists (select 1 from {keyed.name}.touched where key_{keyed.needed} = {keyed.needed})"
            fresh += f" where {keyed.needed} is null or {ours}"
        old = self.parts.covering(relation, near)
        hours = self._hours(f"select distinct hour_us from ({fresh})") | self._old_hours(keyed, old)
        self.parts.rewrite(relation, hours, fresh=fresh, keep=self._keep(keyed))
        self.touched[relation] = self.touched.get(relation, set()) | hours

    def _fact_hours(self, keyed: Keyed) -> set[int]:
        """The hours of the facts of the touched keys: no row that was made of these facts stands elsewhere."""
        return self._hours(" union ".join(f"select {_HOUR} from {keyed.name}.{relation}" for relation in keyed.keys))

    def _old_hours(self, keyed: Keyed, old: Sequence[Part]) -> set[int]:
        """The hours in which rows of touched keys stand, in the parts `old` of a relation."""
        if not old:
            return set()
        return self._hours(
            f"select distinct hour_us from {scan(self.parts.root, old)} as old"
            f" semi join {keyed.name}.touched on {keyed.is_old}"
        )

    def _keep(self, keyed: Keyed) -> str:
        """The condition that a row `old` is not of a touched key."""
        return f"not exists (select 1 from {keyed.name}.touched where {keyed.is_old})"

    def _hourly(self) -> None:
        """Models of the attempts of an hour, for the hours of the staged attempts."""
        hours = self._hours(f"select distinct {_HOUR} from stage_attempts")
        self.touched["attempts"] = hours
        if not hours:
            return
        self.con.execute("create or replace table touched_hours (hour_us bigint)")
        self.con.executemany("insert into touched_hours values (?)", [(hour,) for hour in sorted(hours)])
        self.con.execute(
            f"create or replace view attempts as select data.* from {self._facts_in('attempts', hours)} as data"
            f" semi join touched_hours on {_HOUR} = touched_hours.hour_us"
        )
        for name in HOURLY:
            self.parts.rewrite(name, hours, fresh=model_sql(name), keep=f"hour_us not in {_listed(hours)}", by_day=True)

    def _windows(self) -> None:
        """Models of the postbacks of an hour, for the hours of the staged ones."""
        hours = self._hours(f"select distinct {_HOUR} from stage_postbacks")
        self.touched["postbacks"] = hours
        if not hours:
            return
        listed = _listed(hours)
        self.con.execute(
            f"create or replace view window_postbacks as {WINDOW_POSTBACKS} from {self._facts_in('postbacks', hours)}"
            f" where {_HOUR} in {listed}"
        )
        for name in WINDOWS:
            self.parts.rewrite(name, hours, fresh=model_sql(name), keep=f"hour_us not in {listed}", by_day=True)

    def _states(self) -> None:
        """What is worked out in the order of time, from the earliest touched hour on."""
        self.touched.update(States(self.con, self.parts, self.settings, self.touched, first=self.first).run())

    def _cube(self, cube: Cube) -> None:
        """The minutes and hours of `cube` in the hours where its bases changed."""
        hours = {hour for relation in cube.touched_by for hour in self.touched.get(relation, set())}
        if not hours:
            return
        listed = _listed(hours)
        for base, placed in cube.bases.items():
            if base == "attempts":
                continue
            hour = f"{placed} // {HOUR_US} * {HOUR_US}"
            parts = self._placed_in(base, hours, cube) or self.parts.empty(base)
            self.con.execute(
                f"create or replace view {base} as"
                f" select * from {scan(self.parts.root, parts)} where {hour} in {listed}"
            )
        minutes = f"minute_{cube.name}"
        self.con.execute(f"create or replace table {minutes} as {model_sql(minutes)}")
        hour = f"minute_us // {HOUR_US} * {HOUR_US}"
        self.parts.rewrite(minutes, hours, f"select * from {minutes}", f"{hour} not in {listed}", hour, by_day=True)
        self.parts.rewrite(
            f"hour_{cube.name}", hours, model_sql(f"hour_{cube.name}"), f"hour_us not in {listed}", by_day=True
        )
        self.con.execute(f"drop table {minutes}")
        for base in cube.bases:
            if base != "attempts":
                self.con.execute(f"drop view {base}")

    def _placed_in(self, base: str, hours: set[int], cube: Cube) -> list[Part]:
        """The parts of a base with rows that the cube places in `hours`."""
        if not cube.later:
            return self.parts.covering(base, hours)
        since, until = min(hours) - HOUR_US, max(hours) + HOUR_US + self.settings.notice_days * DAY_US
        return [part for part in self.parts.of(base) if part.hi_us >= since and part.lo_us <= until]

    def _hours(self, sql: str) -> set[int]:
        """The hours that `sql` selects, but for those whose facts are gone."""
        found = {int(row[0]) for row in self.con.execute(sql).fetchall() if row[0] is not None}
        return {hour for hour in found if hour >= self.parts.frozen_us}

    def _count(self, relation: str) -> int:
        row = self.con.execute(f"select count(*) from {relation}").fetchone()
        return int(row[0]) if row else 0


def _listed(hours: Iterable[int]) -> str:
    return "(" + ", ".join(str(hour) for hour in sorted(hours)) + ")"
