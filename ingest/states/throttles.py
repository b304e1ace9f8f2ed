"""throttles and wasted_requests: every 429 with the request that came next, and what was sent before it ran out.

Nothing here depends on more than one 429 and the requests after it, so a load works out its own hours, looks further
for the next request of their 429s where it did not come in them, and gives older 429s an earlier next one. When a 429
was answered and when the time that it asked for is over depends on its own line alone.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from ingest.models.relations import HOUR_US
from ingest.states.questions import NEVER_US, Questions, Requests, Windows
from ingest.states.scope import SLICE_ROWS, Scope, between, hour_of, listed

#: When the answer with the 429 came: Retry-After runs from then.
ENDS_US = f"us + cast(round(least(coalesce(latency_ms, 0) * 1000, {NEVER_US})) as bigint)"

#: Until when a request is wasted: a second before Retry-After has passed.
FREE_US = f"ends_us + cast(round(least(retry_after_s * 1000000, {NEVER_US})) as bigint) - 1000000"

#: What names a question, and so its answer.
QUESTION = ("key", "endpoint", "ends_us")

#: What names a call or an order, and the request in it.
CALL = ("key", "auction_id", "tenant", "event_type", "external_order_id", "us")


@dataclass(frozen=True)
class Stream:
    """One side of the logs.

    `columns` are SQL over the facts of `relation`, `sent` tells its requests; `calls` names the relation that knows
    when a call began, `same_call` the condition that its row is the call of a row `asked`.
    """

    name: str
    relation: str
    columns: dict[str, str]
    sent: str
    calls: str
    same_call: str


EXCHANGE = Stream(
    name="exchange",
    relation="attempts",
    columns={
        "key": "partner",
        "endpoint": "null::varchar",
        "auction_id": "auction_id",
        "tenant": "null::varchar",
        "event_type": "null::varchar",
        "external_order_id": "null::varchar",
    },
    sent="outcome in (select outcome from outcomes where grp <> 'not_sent')",
    calls="calls",
    same_call="calls.auction_id = asked.auction_id and calls.partner = asked.key",
)
POSTBACK = Stream(
    name="postback",
    relation="postbacks",
    columns={
        "key": "key_id",
        "endpoint": "endpoint",
        "auction_id": "null::varchar",
        "tenant": "coalesce(tenant, key_id)",
        "event_type": "event_type",
        "external_order_id": "external_order_id",
    },
    sent="true",
    calls="orders",
    same_call="calls.external_order_id = asked.external_order_id and calls.tenant is not distinct from asked.tenant"
    " and calls.event_type is not distinct from asked.event_type",
)


class Throttles:
    """The 429s and wasted requests of one stream, for a load that touched the hours `touched` of its facts."""

    def __init__(self, scope: Scope, stream: Stream, touched: set[int]) -> None:
        self.scope, self.stream, self.touched = scope, stream, touched
        self.name = stream.name
        self.newest = max((part.hi_us for part in scope.parts.of(stream.relation)), default=0)
        named = ", ".join(f"{sql} as {name}" for name, sql in stream.columns.items())
        self._columns = f"{named}, epoch_us(ts) as us"
        self._others = (
            f"{scope.old('throttles')} where stream = '{self.name}' and hour_us not in {listed(touched | {-1})}"
        )
        #: How long a call may take; an order may take any time.
        self._span_us = scope.settings.call_span_s * 1_000_000 if stream is EXCHANGE else NEVER_US
        scope.create(f"{self.name}_throttles", "throttles")
        scope.create(f"{self.name}_wasted", "wasted_requests")
        scope.con.execute("create or replace table states.groups (gid bigint, key varchar, endpoint varchar)")

    def run(self, calls: set[int]) -> tuple[set[int], set[int]]:
        """Work out the 429s and the wasted requests; a call that began in one of the hours `calls` may begin otherwise.

        Gives the hours of both, whose rows stand in `states.<stream>_found` and `states.<stream>_wasted` then.
        """
        self._take()
        self._groups()
        questions, windows = self._questions(), self._windows()
        hours = self._window_hours()
        if questions or windows:
            for chunk, count in self.scope.chunks(self.stream.relation, hours):
                rows = self.scope.read(self.stream.relation, chunk)
                slices = 1 + count // SLICE_ROWS
                for number in range(slices):
                    requests = self._requests(rows, f"gid % {slices} = {number}")
                    questions.answer(requests)
                    self._waste(rows, windows.wasted(requests))
        others: set[int] = set()
        if not self.scope.first:
            self._look_between(questions)
        self._answers(questions)
        if not self.scope.first:
            others = self._changed(calls)
            rows = f"{self._others} and hour_us in {listed(others | {-1})}"
            self.scope.con.execute(f"insert into states.{self.name}_throttles by name {rows}")
        self._find_calls(f"select * from states.{self.name}_throttles")
        self.scope.con.execute(
            f"create or replace table states.{self.name}_found as select asked.* replace"
            " (coalesce(answers.next_us, asked.next_us) as next_us, coalesce(call_of.call_us, asked.us) as call_us)"
            f" from states.{self.name}_throttles as asked left join states.answers"
            f" on asked.retry_after_s is not null and {_same(QUESTION, 'answers')}"
            f" left join states.call_of on {_same(CALL, 'call_of')}"
        )
        return self.touched | others, hours

    def _take(self) -> None:
        """Take the 429s of the touched hours in."""
        if self.touched:
            self.scope.con.execute(
                f"insert into states.{self.name}_throttles by name select '{self.name}' as stream,"
                f" {hour_of('us')} as hour_us, us as call_us, {ENDS_US} as ends_us, null::bigint as next_us,"
                f" * exclude (latency_ms) from (select {self._columns}, latency_ms, retry_after_s"
                f" from {self.scope.read(self.stream.relation, sorted(self.touched))} where outcome = 'rate_limited')"
            )

    def _groups(self) -> None:
        """Number the keys and endpoints with a Retry-After that matters here."""
        since = min(self.touched, default=NEVER_US)
        self.scope.con.execute(
            "create or replace table states.asking as select key, endpoint, ends_us, next_us, hour_us,"
            f" {FREE_US} as free_us, true as fresh from states.{self.name}_throttles where retry_after_s is not null"
            f" union all select key, endpoint, ends_us, next_us, hour_us, {FREE_US} as free_us, false as fresh"
            f" from ({self._others}) where retry_after_s is not null"
            f" and (coalesce(next_us, {NEVER_US}) >= {since} or {FREE_US} > {since})"
        )
        self.scope.con.execute(
            "insert into states.groups select row_number() over () - 1, key, endpoint"
            " from (select distinct key, endpoint from states.asking)"
        )

    def _asked(self, columns: str, where: str = "true") -> dict[str, NDArray[Any]]:
        return self.scope.arrays(
            f"select distinct gid, {columns} from states.asking inner join states.groups"
            " on asking.key is not distinct from groups.key"
            f" and asking.endpoint is not distinct from groups.endpoint where {where}"
        )

    def _questions(self) -> Questions:
        return Questions(**self._asked(f"ends_us, coalesce(next_us, {NEVER_US}) as next_us, fresh"))

    def _windows(self) -> Windows:
        return Windows(**self._asked("ends_us, free_us", "free_us > ends_us + 1"))

    def _requests(self, rows: str, which: str) -> Requests:
        data = self.scope.arrays(
            f"select gid, us from (select {self._columns} from {rows} where {self.stream.sent}) as requests"
            " inner join states.groups"
            " on requests.key is not distinct from groups.key"
            f" and requests.endpoint is not distinct from groups.endpoint where {which}"
        )
        return Requests(data["gid"], data["us"])

    def _window_hours(self) -> set[int]:
        """The touched hours, and others into which the windows of their 429s reach."""
        windows = self.scope.rows(
            "select ends_us, max(free_us) from states.asking where fresh and free_us > ends_us + 1 group by ends_us"
        )
        reached: set[int] = set()
        if windows and not self.scope.first:
            lo, hi = min(lo for lo, _ in windows), min(max(hi for _, hi in windows), self.newest + 1)
            if not self._only_touched(lo, hi):
                hours = sorted(
                    hour
                    for (hour,) in self.scope.rows(
                        f"select distinct {hour_of('epoch_us(ts)')} from {self._between(lo // HOUR_US * HOUR_US, hi)}"
                    )
                )
                for lo, hi in windows:
                    reached.update(hours[bisect_left(hours, lo // HOUR_US * HOUR_US) : bisect_left(hours, hi)])
        return self.touched | reached

    def _only_touched(self, lo_us: int, hi_us: int) -> bool:
        hours = range(lo_us // HOUR_US * HOUR_US, hi_us, HOUR_US)
        return len(hours) <= len(self.touched) and all(hour in self.touched for hour in hours)

    def _waste(self, rows: str, wasted: pa.Table) -> None:
        """Note the requests of `rows` that are among the `wasted` (gid, us)."""
        if not wasted.num_rows:
            return
        con = self.scope.con
        con.register("state_wasted", wasted)
        con.execute(
            f"insert into states.{self.name}_wasted by name select '{self.name}' as stream, {hour_of('us')} as hour_us,"
            f" requests.* from (select {self._columns} from {rows} where {self.stream.sent}) as requests"
            " semi join (select key, endpoint, us from state_wasted inner join states.groups using (gid)) as wasted"
            " on requests.us = wasted.us and requests.key is not distinct from wasted.key"
            " and requests.endpoint is not distinct from wasted.endpoint"
        )
        con.unregister("state_wasted")

    def _look_between(self, questions: Questions) -> None:
        """Look for the answers of fresh questions in the hours that the load left alone, as far as it takes."""
        lo, span = questions.unsure_from(self.touched), HOUR_US
        while lo is not None and lo <= self.newest:
            if lo // HOUR_US * HOUR_US in self.touched:
                lo = (lo // HOUR_US + 1) * HOUR_US
                continue
            if not (groups := questions.open_after(lo)):
                return
            questions.answer(self._requests(self._between(lo, lo + span), f"gid in {listed(groups)}"))
            lo, span = lo + span, span * 2

    def _between(self, lo_us: int, hi_us: int) -> str:
        """A select of the facts of hours that were not touched."""
        relation = self.stream.relation
        return (
            f"(select * from {self.scope.scan(relation, lo_us, hi_us)} where {between(relation, lo_us, hi_us)}"
            f" and {hour_of('epoch_us(ts)')} not in {listed(self.touched | {-1})})"
        )

    def _answers(self, questions: Questions) -> None:
        """Make `states.answers`: the next request of each key, endpoint and end of a 429 that was asked for."""
        con = self.scope.con
        con.register("state_answers", questions.table())
        con.execute(
            "create or replace table states.answers as"
            f" select key, endpoint, ends_us, nullif(min(next_us), {NEVER_US}) as next_us"
            " from state_answers inner join states.groups using (gid) group by key, endpoint, ends_us"
        )
        con.unregister("state_answers")

    def _changed(self, calls: set[int]) -> set[int]:
        """Other hours in which a 429 has another next request, or a call that began at another time."""
        moved = (
            "select distinct hour_us from states.asking as asked inner join states.answers"
            f" on {_same(QUESTION, 'answers')} where not asked.fresh"
            " and asked.next_us is distinct from answers.next_us"
        )
        # No 429 comes before its call begins.
        candidates = (
            f"{self._others} and {hour_of('call_us')} in {listed(calls | {-1})}"
            f" and us >= {min(calls, default=0)} and us < {max(calls, default=0) + HOUR_US + self._span_us}"
        )
        self._find_calls(candidates)
        called = (
            f"select distinct hour_us from ({candidates}) as asked left join states.call_of on {_same(CALL, 'call_of')}"
            " where asked.call_us <> coalesce(call_of.call_us, asked.us)"
        )
        return {hour for (hour,) in self.scope.rows(f"{moved} union {called}")}

    def _find_calls(self, asked: str) -> None:
        """Make `states.call_of`: when the calls of the rows `asked` began."""
        con = self.scope.con
        names = ", ".join(CALL)
        con.execute(f"create or replace table states.callers as select distinct {names} from ({asked})")
        con.execute("create or replace table states.call_of as select *, us as call_us from states.callers limit 0")
        lo, hi = self.scope.rows("select min(us), max(us) from states.callers")[0]
        if lo is None:
            return
        calls = self.scope.scan(self.stream.calls, lo - self._span_us, hi + 1)
        con.execute(
            f"insert into states.call_of by name select {names}, max(call_us) as call_us from ("
            f"select asked.*, calls.call_us from states.callers as asked inner join {calls} as calls"
            f" on {self.stream.same_call} where calls.call_us <= asked.us) group by all"
        )


def _same(columns: tuple[str, ...], other: str) -> str:
    return " and ".join(f"asked.{name} is not distinct from {other}.{name}" for name in columns)
