"""throttles and wasted_requests: every 429 with the request that came next, and what was sent before it ran out.

Nothing here depends on more than one 429 and the requests after it, so a load works out its own hours, looks further
for the next request of their 429s where it did not come in them, and gives older 429s an earlier next one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ingest.models.relations import HOUR_US
from ingest.states.scope import Scope, between, hour_of, listed

#: A time after all others, and a bound of durations that can still be added to one (microseconds).
NEVER_US = 10**17

#: When the answer with the 429 came: Retry-After runs from then.
ENDS_US = f"us + cast(round(least(coalesce(latency_ms, 0) * 1000, {NEVER_US})) as bigint)"

#: Until when a request is wasted: a second before Retry-After has passed.
FREE_US = f"ends_us + cast(round(least(retry_after_s * 1000000, {NEVER_US})) as bigint) - 1000000"

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
    same_call="calls.external_order_id = asked.external_order_id and calls.tenant = asked.tenant"
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
        scope.create(f"{self.name}_throttles", "throttles")
        scope.create(f"{self.name}_wasted", "wasted_requests")

    def run(self, calls: set[int]) -> set[int]:
        """Work the 429s out, also where calls that began in the hours `calls` may begin otherwise; gives the hours.

        The rows of these hours stand in `states.<stream>_found` then.
        """
        self._old_questions()
        for hours in self.scope.chunks(self.stream.relation, self.touched):
            self._take(hours)
            self._answer(self.scope.read(self.stream.relation, hours), hours[0])
        others: set[int] = set()
        if not self.scope.first:
            self._look_between()
        self.scope.con.execute(
            "create or replace table states.questions as"
            " select key, endpoint, ends_us, min(next_us) as next_us from states.questions group by all"
        )
        if not self.scope.first:
            others = self._changed(calls)
            rows = f"{self._others} and hour_us in {listed(others | {-1})}"
            self.scope.con.execute(f"insert into states.{self.name}_throttles by name {rows}")
        self._find_calls(f"select * from states.{self.name}_throttles")
        self.scope.con.execute(
            f"create or replace table states.{self.name}_found as select asked.* replace"
            " (coalesce(questions.next_us, asked.next_us) as next_us, coalesce(call_of.call_us, asked.us) as call_us)"
            f" from states.{self.name}_throttles as asked"
            f" left join states.questions on asked.retry_after_s is not null and {_same_question('questions')}"
            f" left join states.call_of on {_same(CALL, 'call_of')}"
        )
        return self.touched | others

    def _old_questions(self) -> None:
        """What came next after the 429s of other hours: a touched hour may hold an earlier request."""
        self.scope.con.execute(
            "create or replace table states.questions as select distinct key, endpoint, ends_us, next_us,"
            f" false as fresh from ({self._others}) where retry_after_s is not null"
            f" and coalesce(next_us, {NEVER_US}) >= {min(self.touched, default=NEVER_US)}"
        )

    def _take(self, hours: list[int]) -> None:
        """Take the 429s of some touched hours in."""
        con = self.scope.con
        con.execute(
            f"create or replace table states.taken as select '{self.name}' as stream, {hour_of('us')} as hour_us,"
            f" us as call_us, {ENDS_US} as ends_us, null::bigint as next_us, * exclude (latency_ms)"
            f" from (select {self._columns}, latency_ms, retry_after_s"
            f" from {self.scope.read(self.stream.relation, hours)} where outcome = 'rate_limited')"
        )
        con.execute(f"insert into states.{self.name}_throttles by name select * from states.taken")
        con.execute(
            "insert into states.questions select distinct key, endpoint, ends_us, null::bigint, true from states.taken"
            " where retry_after_s is not null"
        )

    def _answer(self, rows: str, begin_us: int, which: str = "true") -> bool:
        """Give open questions their first request among `rows`, none before `begin_us`; False where none is open."""
        con = self.scope.con
        con.execute(
            "create or replace table states.open as select distinct key, endpoint, ends_us from states.questions"
            f" where {which} and coalesce(next_us, {NEVER_US}) > {begin_us}"
        )
        if not self.scope.any("states.open"):
            return False
        con.execute(
            "create or replace table states.answers as select asked.*, requests.us as next_us"
            f" from states.open as asked asof join ({self._requests(rows, 'states.open')}) as requests"
            " on asked.key = requests.key and asked.endpoint is not distinct from requests.endpoint"
            " and asked.ends_us < requests.us"
        )
        con.execute(
            "update states.questions as asked"
            f" set next_us = least(coalesce(asked.next_us, {NEVER_US}), answers.next_us)"
            f" from states.answers where {_same_question('answers')}"
        )
        return True

    def _requests(self, rows: str, among: str) -> str:
        return (
            f"select {self._columns} from {rows} where {self.stream.sent}"
            f" and {self.stream.columns['key']} in (select key from {among})"
        )

    def _look_between(self) -> None:
        """Look for the answers of fresh questions in the hours that the load left alone, as far as it takes."""
        hour = hour_of("ends_us")
        touched = listed(self.touched | {-1})
        both = listed({one for one in self.touched if one + HOUR_US in self.touched} | {-1})
        answered = (
            f"({hour} in {touched} and next_us < {hour} + {HOUR_US} or {hour} in {both} and"
            f" next_us < {hour} + {2 * HOUR_US})"
        )
        unsure = f"fresh and not coalesce({answered}, false)"
        lo = self.scope.rows(f"select min(ends_us) from states.questions where {unsure}")[0][0]
        span = HOUR_US
        while lo is not None and lo <= self.newest:
            if lo // HOUR_US * HOUR_US in self.touched:
                lo = (lo // HOUR_US + 1) * HOUR_US
                continue
            if not self._answer(self._between(lo, lo + span), lo, unsure):
                return
            lo, span = lo + span, span * 2

    def _between(self, lo_us: int, hi_us: int) -> str:
        """A select of the facts of hours that were not touched."""
        relation = self.stream.relation
        return (
            f"(select * from {self.scope.scan(relation, lo_us, hi_us)} where {between(relation, lo_us, hi_us)}"
            f" and {hour_of('epoch_us(ts)')} not in {listed(self.touched | {-1})})"
        )

    def _changed(self, calls: set[int]) -> set[int]:
        """Other hours in which a 429 has another next request, or a call that began at another time."""
        moved = (
            f"select distinct hour_us from ({self._others}) as asked inner join states.questions"
            f" on {_same_question('questions')} where asked.retry_after_s is not null"
            " and asked.next_us is distinct from questions.next_us"
        )
        candidates = f"{self._others} and {hour_of('call_us')} in {listed(calls | {-1})}"
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
        span = self.scope.settings.call_span_s * 1_000_000 if self.stream is EXCHANGE else NEVER_US
        calls = self.scope.scan(self.stream.calls, lo - span, hi + 1)
        con.execute(
            f"insert into states.call_of by name select {names}, max(call_us) as call_us from ("
            f"select asked.*, calls.call_us from states.callers as asked inner join {calls} as calls"
            f" on {self.stream.same_call} where calls.call_us <= asked.us) group by all"
        )

    def waste(self) -> set[int]:
        """Find the requests that came too early, into `states.<stream>_wasted`; gives the hours worked out."""
        fresh = f"select * from states.{self.name}_throttles where hour_us in {listed(self.touched | {-1})}"
        hours = set(self.touched)
        if not self.scope.first:
            self._windows(fresh)
            lo, hi = self.scope.rows("select min(lo), max(reach) from states.windows")[0]
            if lo is not None and not self._only_touched(lo, min(hi, self.newest)):
                rows = self._wasted(self._between(lo, min(hi, self.newest + 1)))
                hours |= {hour for (hour,) in self.scope.rows(f"select distinct {hour_of('us')} from ({rows})")}
        self._windows(f"{fresh} union all by name {self._others}", min(hours, default=NEVER_US))
        if self.scope.any("states.windows"):
            for chunk in self.scope.chunks(self.stream.relation, hours):
                rows = self._wasted(self.scope.read(self.stream.relation, chunk))
                self.scope.con.execute(
                    f"insert into states.{self.name}_wasted by name"
                    f" select '{self.name}' as stream, {hour_of('us')} as hour_us, * from ({rows})"
                )
        return hours

    def _only_touched(self, lo_us: int, hi_us: int) -> bool:
        hours = range(lo_us // HOUR_US * HOUR_US, hi_us + 1, HOUR_US)
        return len(hours) <= len(self.touched) and all(hour in self.touched for hour in hours)

    def _windows(self, throttles: str, after_us: int = 0) -> None:
        """Make `states.windows` of 429s: from each `lo` on, requests before `reach` are wasted."""
        self.scope.con.execute(
            "create or replace table states.windows as select key, endpoint, lo, max(hi) over"
            " (partition by key, endpoint order by lo rows unbounded preceding) as reach"
            f" from (select key, endpoint, ends_us as lo, max({FREE_US}) as hi from ({throttles})"
            f" where retry_after_s is not null group by key, endpoint, ends_us) where hi > lo + 1 and hi > {after_us}"
        )

    def _wasted(self, rows: str) -> str:
        """A select of the requests among `rows` that lie in a window."""
        return (
            f"select requests.* from ({self._requests(rows, 'states.windows')}) as requests asof join states.windows"
            " on requests.key = windows.key and requests.endpoint is not distinct from windows.endpoint"
            " and requests.us > windows.lo where requests.us < windows.reach"
        )


def _same(columns: tuple[str, ...], other: str) -> str:
    return " and ".join(f"asked.{name} is not distinct from {other}.{name}" for name in columns)


def _same_question(other: str) -> str:
    return _same(("key", "endpoint", "ends_us"), other)
