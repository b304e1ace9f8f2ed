"""The state relations against a plain reading of their definitions, loaded at once and in any split and order."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ingest.engine import engine
from ingest.facts.columns import COLUMNS
from ingest.facts.store import write_facts
from ingest.models.parts import Part, Parts, quote, scan
from ingest.models.relations import FACTS, HOUR_US
from ingest.settings import Settings
from ingest.states import States
from ingest.states.columns import STATES
from ingest.states.scope import in_order

pytestmark = pytest.mark.slow

SECOND = 1_000_000
BEGIN = 1_789_380_000 * SECOND  # 2026-09-14T10:00:00Z
CALL_SPAN = 600 * SECOND

DEFAULTS = Settings()

ANSWERED = {"bid", "no_bid", "answered_unknown"}
UNHEARD = {"not_sent_breaker", "not_sent_limit"}

MODELS = {
    "auction_stages": "auction_id varchar, us bigint, hour_us bigint, source varchar, placement varchar, empty bigint",
    "calls": "auction_id varchar, partner varchar, call_us bigint, hour_us bigint",
    "orders": "tenant varchar, event_type varchar, external_order_id varchar, partner varchar, call_us bigint,"
    " hour_us bigint",
}


def hour(us: int) -> int:
    return us // HOUR_US * HOUR_US


@dataclass(frozen=True)
class Attempt:
    us: int
    partner: str = "p"
    outcome: str = "no_bid"
    auction_id: str = "a"
    attempt: int | None = None
    request_id: str | None = None
    latency_ms: float | None = None
    retry_after_s: float | None = None

    def row(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "us"}


@dataclass(frozen=True)
class Postback:
    us: int
    key_id: str = "k"
    outcome: str = "accepted"
    endpoint: str | None = None
    tenant: str | None = None
    event_type: str | None = None
    external_order_id: str | None = None
    latency_ms: float | None = None
    retry_after_s: float | None = None

    def row(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "us"} | {"http_status": 200}


@dataclass(frozen=True)
class Auction:
    """One sight of an auction: the earliest places it, and it is empty only where all say so."""

    us: int
    auction_id: str
    source: str | None = "s"
    placement: str | None = "p"
    empty: int = 1


Event = Attempt | Postback | Auction


# ---------------------------------------------------------------------------------------------------------------------
# The definitions, read plainly


@dataclass
class Interval:
    state: str
    start: int
    attempts: int = 0
    failures: int = 0
    blocked: int = 0


def nulls_last(value: Any) -> tuple[bool, Any]:
    return value is None, value if value is not None else 0


def expected(attempts: Iterable[Attempt], settings: Settings) -> list[tuple[Any, ...]]:
    """partner, state, from, until, attempts, failures, blocked of every interval, in order."""
    by_partner = defaultdict(list)
    for one in attempts:
        if one.outcome not in UNHEARD | {"cancelled"}:
            by_partner[one.partner].append(one)
    rows = []
    for partner, seen in sorted(by_partner.items()):
        breaker = settings.breaker(partner)
        seen.sort(
            key=lambda one: (
                one.us,
                nulls_last(one.attempt),
                (one.request_id is None, one.request_id or ""),
                one.outcome in ANSWERED,
            )
        )
        intervals = [Interval("closed", seen[0].us)]
        window: list[Attempt] = []
        for one in seen:
            now = intervals[-1]
            failed = one.outcome not in ANSWERED
            if now.state == "open" and one.us >= now.start + breaker.open_us:
                intervals.append(Interval("half_open", now.start + breaker.open_us, 1, int(failed)))
                intervals.append(Interval("open" if failed else "closed", one.us))
                window = []
                continue
            now.attempts += 1
            now.failures += failed
            if now.state == "open":
                now.blocked += 1
                continue
            window = [w for w in [*window, one] if w.us > one.us - breaker.window_us]
            failures = sum(w.outcome not in ANSWERED for w in window)
            if len(window) >= breaker.min_attempts and failures / len(window) >= breaker.failure_share:
                intervals.append(Interval("open", one.us))
        for one in intervals:
            until = one.start + breaker.open_us if one.state == "open" else None
            rows.append((partner, one.state, one.start, until, one.attempts, one.failures, one.blocked))
    return rows


def calls_of(attempts: Iterable[Attempt]) -> dict[tuple[str, str], list[int]]:
    """When the calls of each auction and partner began."""
    times = defaultdict(list)
    for one in attempts:
        times[one.auction_id, one.partner].append(one.us)
    calls = {}
    for key, found in times.items():
        starts: list[int] = []
        for us in sorted(found):
            if not starts or us > starts[-1] + CALL_SPAN:
                starts.append(us)
        calls[key] = starts
    return calls


def orders_of(postbacks: Iterable[Postback]) -> dict[tuple[str, str | None, str], int]:
    """When each order was first sent."""
    orders: dict[tuple[str, str | None, str], int] = {}
    for one in postbacks:
        if one.external_order_id is not None:
            key = (one.tenant or one.key_id, one.event_type, one.external_order_id)
            orders[key] = min(one.us, orders.get(key, one.us))
    return orders


def requests_of(events: Iterable[Event]) -> dict[tuple[str, str, str | None], list[Attempt | Postback]]:
    """The requests of each stream, key and endpoint in order."""
    found = defaultdict(list)
    for one in events:
        if isinstance(one, Postback):
            found["postback", one.key_id, one.endpoint].append(one)
        elif isinstance(one, Attempt) and one.outcome not in UNHEARD:
            found["exchange", one.partner, None].append(one)
    return found


def ids(one: Attempt | Postback) -> tuple[Any, ...]:
    if isinstance(one, Attempt):
        return one.auction_id, None, None, None
    return None, one.tenant or one.key_id, one.event_type, one.external_order_id


def throttles(events: Sequence[Event]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Every 429, and every request that it should have held back."""
    calls = calls_of(one for one in events if isinstance(one, Attempt))
    orders = orders_of(one for one in events if isinstance(one, Postback))
    found, wasted = [], []
    for (stream, key, endpoint), requests in requests_of(events).items():
        windows = []
        for one in requests:
            if one.outcome != "rate_limited":
                continue
            ends = one.us + round((one.latency_ms or 0) * 1000)
            after = None
            if one.retry_after_s is not None:
                after = min((other.us for other in requests if other.us > ends), default=None)
                windows.append((ends, ends + round((one.retry_after_s - 1) * SECOND)))
            call = one.us
            if isinstance(one, Attempt):
                starts = calls[one.auction_id, one.partner]
                call = starts[bisect_right(starts, one.us) - 1]
            elif one.external_order_id is not None:
                call = orders[one.tenant or one.key_id, one.event_type, one.external_order_id]
            found.append((stream, key, endpoint, one.us, hour(one.us), call, ends, one.retry_after_s, after, *ids(one)))
        for one in requests:
            if any(lo < one.us < hi for lo, hi in windows):
                wasted.append((stream, key, endpoint, one.us, hour(one.us), *ids(one)))
    return found, wasted


def stages_of(auctions: Iterable[Auction]) -> list[Auction]:
    """Each auction once."""
    found: dict[str, Auction] = {}
    for one in sorted(auctions, key=lambda one: (one.us, one.source or "", one.placement or "")):
        first = found.setdefault(one.auction_id, one)
        found[one.auction_id] = replace(first, empty=min(first.empty, one.empty))
    return list(found.values())


def repeats(auctions: Iterable[Auction]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Auctions after empty ones of their placement, and the last of every placement and hour."""
    groups = defaultdict(list)
    for one in stages_of(auctions):
        if one.source is not None and one.placement is not None:
            groups[one.source, one.placement].append(one)
    rows, tails = [], {}
    for (source, placement), members in groups.items():
        members.sort(key=lambda one: (one.us, one.auction_id))
        run, before = 0, 0
        for one in members:
            if run:
                delay = one.us - before
                told = min(run, 8)
                hammering = None if run < 3 else int(delay <= SECOND)
                rows.append((source, placement, one.auction_id, one.us, hour(one.us), told, delay / 1000, hammering))
            run, before = (run + 1 if one.empty else 0), one.us
            tails[hour(one.us), source, placement] = (before, one.auction_id, min(run, 8))
    return rows, [(*key, *tail) for key, tail in tails.items()]


# ---------------------------------------------------------------------------------------------------------------------
# A warehouse that holds just what the states are made from


@dataclass
class Warehouse:
    root: Path
    settings: Settings
    con: Any = None
    parts: Parts = field(init=False)
    events: list[Event] = field(default_factory=list)
    rewritten: dict[str, set[int]] = field(default_factory=dict)
    generation: int = 0
    chunk_rows: int = 500_000

    def __post_init__(self) -> None:
        self.parts = Parts(self.con, self.root, "0", [])
        typed = {relation: ", ".join(f'"{c}" {kind}' for c, kind in COLUMNS[relation]) for relation in FACTS}
        for relation, columns in (typed | MODELS).items():
            self.con.execute(f"create table stage_{relation} ({columns})")
            path = self.root / f"{relation}.parquet"
            self.con.execute(f"copy stage_{relation} to {quote(str(path))} (format parquet)")
            self.parts.add(Part(relation, path.name, 0, 0, 0))

    def load(self, events: Sequence[Event]) -> None:
        """Load further events as a load does: facts, models of what changed, then the states."""
        first = not self.events
        self.generation += 1
        self.parts = Parts(self.con, self.root, f"{self.generation:08d}", self.parts.all())
        before = self._models()
        self.events += events
        touched = {}
        for relation, kind in (("attempts", Attempt), ("postbacks", Postback)):
            rows = [one for one in events if isinstance(one, kind)]
            self._stage(relation, [{"ts": one.us} | one.row() for one in rows])
            touched[relation] = {hour(one.us) for one in rows}
        write_facts(self.parts)
        for relation, rows in self._models().items():
            changed = {row["hour_us"] for row in _differ(before[relation], rows)}
            self._stage(relation, [row for row in rows if row["hour_us"] in changed])
            gone = ", ".join(map(str, changed)) or "-1"
            self.parts.rewrite(relation, changed, f"select * from stage_{relation}", f"hour_us not in ({gone})")
            touched[relation] = changed
        states = States(self.con, self.parts, self.settings, touched, first=first, chunk_rows=self.chunk_rows)
        self.rewritten = states.run()

    def _stage(self, relation: str, rows: Sequence[dict[str, Any]]) -> None:
        self.con.execute(f"delete from stage_{relation}")
        for row in rows:
            marks = ", ".join("make_timestamp(?)" if name == "ts" else "?" for name in row)
            names = ", ".join(row)
            self.con.execute(f"insert into stage_{relation} ({names}) values ({marks})", list(row.values()))

    def _models(self) -> dict[str, list[dict[str, Any]]]:
        attempts = [one for one in self.events if isinstance(one, Attempt)]
        orders = orders_of(one for one in self.events if isinstance(one, Postback))
        return {
            "auction_stages": [
                vars(one) | {"hour_us": hour(one.us)}
                for one in stages_of(one for one in self.events if isinstance(one, Auction))
            ],
            "calls": [
                {"auction_id": auction, "partner": partner, "call_us": us, "hour_us": hour(us)}
                for (auction, partner), starts in calls_of(attempts).items()
                for us in starts
            ],
            "orders": [
                {"tenant": t, "event_type": e, "external_order_id": o, "call_us": us, "hour_us": hour(us)}
                for (t, e, o), us in orders.items()
            ],
        }

    def rows(self, relation: str) -> list[tuple[Any, ...]]:
        names = ", ".join(name for name, _ in STATES[relation])
        if not self.parts.of(relation):
            return []
        return list(self.con.execute(f"select {names} from {scan(self.root, self.parts.of(relation))}").fetchall())

    def intervals(self) -> list[tuple[Any, ...]]:
        """The expected pieces summed: partner, state, from, until, attempts, failures, blocked, in order."""
        if not self.parts.of("expected_pieces"):
            return []
        return list(
            self.con.execute(
                "select partner, state, from_us, max(until_us), sum(attempts)::bigint, sum(failures)::bigint,"
                f" sum(blocked)::bigint from {scan(self.root, self.parts.of('expected_pieces'))}"
                " group by partner, state, from_us order by partner, from_us, min(hour_us), arg_min(place, hour_us)"
            ).fetchall()
        )


def _differ(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in before if row not in after] + [row for row in after if row not in before]


@contextmanager
def warehouse(settings: Settings = DEFAULTS) -> Iterator[Warehouse]:
    with TemporaryDirectory() as folder:
        con = engine(Path(folder))
        try:
            yield Warehouse(Path(folder), settings, con)
        finally:
            con.close()


def ordered(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(
        rows, key=lambda row: tuple(nulls_last(value) if value is None else (False, str(value)) for value in row)
    )


def check(held: Warehouse) -> None:
    """Every state relation is what the definitions say of all that was loaded."""
    events = held.events
    assert held.intervals() == expected((one for one in events if isinstance(one, Attempt)), held.settings)
    found, wasted = throttles(events)
    assert ordered(held.rows("throttles")) == ordered(found)
    assert ordered(held.rows("wasted_requests")) == ordered(wasted)
    rows, tails = repeats(one for one in events if isinstance(one, Auction))
    assert ordered(held.rows("repeats")) == ordered(rows)
    assert ordered(held.rows("placement_tails")) == ordered(tails)
    for row in held.rows("expected_pieces"):
        partner, at, place, *_ = row
        assert place < len(events), f"{partner} has no such place in hour {at}"


# ---------------------------------------------------------------------------------------------------------------------
# Worked by hand


def failing(seconds: Iterable[float], outcome: str = "server_error") -> list[Event]:
    return [Attempt(BEGIN + round(second * SECOND), outcome=outcome, auction_id=f"a{second}") for second in seconds]


def test_the_breaker_opens_on_half_of_twenty_and_probes_after_thirty_seconds() -> None:
    with warehouse() as held:
        held.load([*failing(range(10), "no_bid"), *failing(range(10, 25)), *failing([49, 50], "bid")])
        assert [(state, (start - BEGIN) // SECOND, *counts) for _, state, start, _, *counts in held.intervals()] == [
            ("closed", 0, 20, 10, 0),
            ("open", 19, 5, 5, 5),
            ("half_open", 49, 1, 0, 0),
            ("closed", 49, 1, 0, 0),
        ]


def test_a_failed_probe_opens_again_and_cancelled_attempts_are_not_seen() -> None:
    with warehouse() as held:
        held.load([*failing(range(20)), *failing([48.5], "cancelled"), *failing([60]), *failing([61], "bid")])
        assert [(state, (start - BEGIN) // SECOND, *counts) for _, state, start, _, *counts in held.intervals()] == [
            ("closed", 0, 20, 20, 0),
            ("open", 19, 0, 0, 0),
            ("half_open", 49, 1, 1, 0),
            ("open", 60, 1, 0, 1),
        ]


def test_the_window_leaves_out_what_is_as_old_as_it_is_long() -> None:
    with warehouse() as held:
        held.load(failing([0, *range(12, 31)]))
        assert [row[1] for row in held.intervals()] == ["closed"]
    with warehouse() as held:
        held.load(failing([0, *(11.999999 + second for second in range(19))]))
        assert [row[1] for row in held.intervals()] == ["closed", "open"]


def test_a_partner_has_its_own_breaker() -> None:
    settings = replace(Settings(), breaker_partners='{"p": {"min_attempts": 2, "open_s": 5}}')
    with warehouse(settings) as held:
        held.load([*failing([0, 1]), Attempt(BEGIN, "q", "timeout"), Attempt(BEGIN + 1, "q", "timeout")])
        assert [(row[0], row[1], row[3]) for row in held.intervals()] == [
            ("p", "closed", None),
            ("p", "open", BEGIN + 6 * SECOND),
            ("q", "closed", None),
        ]


SHORT = Settings(breaker_window_s=3, breaker_min_attempts=3, breaker_failure_share=0.5, breaker_open_s=2)
BORDER = 3600  # seconds after BEGIN


def test_the_window_reaches_over_a_late_hour_into_the_next() -> None:
    with warehouse(SHORT) as held:
        held.load([*failing([0], "bid"), *failing([BORDER, BORDER + 1])])
        assert [row[1] for row in held.intervals()] == ["closed"]
        held.load(failing([BORDER - 1]))
        assert [row[1:3] for row in held.intervals()][1:] == [("open", BEGIN + (BORDER + 1) * SECOND)]


def test_the_probe_that_closed_it_is_not_in_the_window_of_a_later_load() -> None:
    with warehouse(SHORT) as held:
        held.load([*failing([10, 11, 12]), *failing([BORDER - 1], "bid")])
        held.load(failing([BORDER, BORDER + 1]))
        assert [row[1] for row in held.intervals()] == ["closed", "open", "half_open", "closed"]
        check(held)


def test_a_first_attempt_that_becomes_a_probe_leaves_the_window_of_the_next_hour() -> None:
    with warehouse(SHORT) as held:
        held.load([*failing([2 * BORDER - 1], "bid"), *failing([2 * BORDER, 2 * BORDER + 1])])
        assert [row[1] for row in held.intervals()] == ["closed", "open"]
        held.load(failing([BORDER - 3, BORDER - 2, BORDER - 1]))
        assert [row[1] for row in held.intervals()] == ["closed", "open", "half_open", "closed"]
        check(held)


@pytest.mark.parametrize(
    "good, bad, counts",
    [
        ({"attempt": 3}, {"attempt": 1}, (3, 2)),
        ({"attempt": 1}, {"attempt": 2}, (4, 2)),
        ({"attempt": None}, {"attempt": 2}, (3, 2)),
        ({"request_id": "b"}, {"request_id": "a"}, (3, 2)),
        ({"request_id": "B"}, {"request_id": "a"}, (4, 2)),
        ({"request_id": None}, {"request_id": "a"}, (3, 2)),
        ({}, {}, (3, 2)),
    ],
)
def test_of_attempts_at_one_instant_number_then_request_id_then_rank_tell_the_order(
    good: dict[str, Any], bad: dict[str, Any], counts: tuple[int, int]
) -> None:
    instant = BEGIN + SECOND
    failed = [Attempt(instant, outcome="timeout", **bad)] * 2
    with warehouse(SHORT) as held:
        held.load([Attempt(BEGIN), Attempt(instant, **good), *failed])
        assert held.intervals()[0][4:6] == counts
        check(held)


def test_retry_after_runs_from_the_answer_and_spares_its_last_second() -> None:
    at = [BEGIN, BEGIN + 500_000, BEGIN + SECOND, BEGIN + 9_499_999, BEGIN + 9_500_000]
    with warehouse() as held:
        asked = Attempt(at[0], outcome="rate_limited", latency_ms=500.0, retry_after_s=10.0)
        held.load([asked, *(Attempt(us) for us in at[1:])])
        assert held.rows("throttles") == [
            ("exchange", "p", None, BEGIN, hour(BEGIN), BEGIN, at[1], 10.0, at[2], "a", None, None, None)
        ]
        assert sorted(row[3] for row in held.rows("wasted_requests")) == [at[2], at[3]]


def test_a_late_429_makes_requests_of_later_hours_its_next_and_wasted() -> None:
    sent = [Attempt(BEGIN + (BORDER + second) * SECOND) for second in (5, 9, 20)]
    with warehouse() as held:
        held.load(list(sent))
        held.load([Attempt(BEGIN + (BORDER - 1) * SECOND, outcome="rate_limited", retry_after_s=10.0)])
        assert [row[8] for row in held.rows("throttles")] == [sent[0].us]
        assert [row[3] for row in held.rows("wasted_requests")] == [sent[0].us]
        check(held)


def test_a_later_short_wait_does_not_end_an_earlier_long_one() -> None:
    with warehouse() as held:
        asked = [(0, 10.0), (2, 2.0)]
        limited = [Attempt(BEGIN + s * SECOND, outcome="rate_limited", retry_after_s=wait) for s, wait in asked]
        held.load([*limited, Attempt(BEGIN + 5 * SECOND)])
        assert sorted(row[3] - BEGIN for row in held.rows("wasted_requests")) == [2 * SECOND, 5 * SECOND]


@pytest.mark.parametrize("groups", [3, 5000])
def test_rows_are_sorted_by_group_and_value_however_many_groups_there_are(groups: int) -> None:
    choice = random.Random(groups)
    rows = [
        (choice.randrange(groups), choice.choice([0, BEGIN, 4_133_980_799_999_999]) * 2 + n % 2) for n in range(999)
    ]
    group, value = in_order(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))
    assert list(zip(group.tolist(), value.tolist(), strict=True)) == sorted(rows)


def test_a_429_lies_in_the_order_that_began_before() -> None:
    sent = [Postback(BEGIN + n * HOUR_US, outcome="rate_limited", external_order_id="o") for n in (1, 2)]
    with warehouse() as held:
        held.load(sent)
        held.load([Postback(BEGIN, outcome="server_error", external_order_id="o")])
        assert [(row[3], row[5]) for row in sorted(held.rows("throttles"))] == [(one.us, BEGIN) for one in sent]


def test_the_fourth_auction_within_a_second_of_the_third_empty_one_hammers() -> None:
    times = [0, 5 * SECOND, 10 * SECOND, 11 * SECOND, 12 * SECOND + 1]
    with warehouse() as held:
        held.load([Auction(BEGIN + us, f"a{us}") for us in times])
        assert [row[5:] for row in sorted(held.rows("repeats"), key=lambda row: row[3])] == [
            (1, 5000.0, None),
            (2, 5000.0, None),
            (3, 1000.0, 1),
            (4, 1000.001, 0),
        ]


def test_hours_after_a_late_line_stand_where_no_state_changed() -> None:
    day = [Auction(BEGIN + n * HOUR_US, f"a{n}") for n in range(24)]
    calls = [Attempt(BEGIN + n * HOUR_US) for n in range(24)]
    with warehouse() as held:
        held.load([*day, *calls])
        held.load([Auction(BEGIN + 3 * HOUR_US - 1, "late"), Attempt(BEGIN + 3 * HOUR_US + 1)])
        check(held)
        # The windows of the next hour reach into the touched one; runs are told apart up to 8.
        assert held.rewritten["expected_pieces"] == {BEGIN + 3 * HOUR_US, BEGIN + 4 * HOUR_US}
        assert max(held.rewritten["repeats"]) <= BEGIN + 8 * HOUR_US


# ---------------------------------------------------------------------------------------------------------------------
# Any events, in any split and order

SMALL = Settings(
    breaker_window_s=3,
    breaker_min_attempts=3,
    breaker_failure_share=0.5,
    breaker_open_s=2,
    breaker_partners='{"q": {"window_s": 4000, "min_attempts": 2, "failure_share": 0.6, "open_s": 1.5}}',
)

HOURS = (0, 1, 2, 3, 8, 9000)
TIMES = st.one_of(
    st.builds(
        lambda h, s, us: BEGIN + h * HOUR_US + s * SECOND + us,
        st.sampled_from(HOURS),
        st.sampled_from([0, 1, 2, 3, 4, 5, 3596, 3597, 3598, 3599]),
        st.sampled_from([0, 0, 0, 1, 500_000, 999_999]),
    ),
    st.integers(0, 12).map(lambda s: BEGIN + HOUR_US + (s - 6) * SECOND),
)
OUTCOMES = ["no_bid", "bid", "server_error", "server_error", "timeout", "rate_limited", "cancelled", "not_sent_breaker"]
LATENCIES = st.sampled_from([None, None, 0.0, 500.0, 1000.0, 3_700_000.0])
WAITS = st.sampled_from([None, 0.0, 1.0, 2.0, 3.0, 5.0, 3600.0, 2.5, 1e12])

attempts = st.builds(
    Attempt,
    us=TIMES,
    partner=st.sampled_from("pppq"),
    outcome=st.sampled_from(OUTCOMES),
    auction_id=st.sampled_from("abc"),
    attempt=st.sampled_from([None, 1, 2]),
    request_id=st.sampled_from([None, "r", "R", "é"]),
    latency_ms=LATENCIES,
    retry_after_s=WAITS,
)
postbacks = st.builds(
    Postback,
    us=TIMES,
    key_id=st.sampled_from("kl"),
    outcome=st.sampled_from(["accepted", "rate_limited", "rate_limited", "server_error"]),
    endpoint=st.sampled_from([None, "e", ""]),
    tenant=st.sampled_from([None, "k"]),
    event_type=st.sampled_from([None, "sale"]),
    external_order_id=st.sampled_from([None, "o"]),
    latency_ms=LATENCIES,
    retry_after_s=WAITS,
)
auctions = st.builds(
    Auction,
    us=TIMES,
    auction_id=st.sampled_from("abcdefghijklmnop"),
    source=st.sampled_from(["s", "s", "s", "t", None]),
    placement=st.sampled_from(["p", "p", "p", None]),
    empty=st.sampled_from([1, 1, 1, 0]),
)
slow = hypothesis_settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


def split(events: Sequence[Event], choice: random.Random) -> list[list[Event]]:
    """The events in a random order, cut at random."""
    shuffled = list(events)
    if choice.random() < 0.5:
        shuffled.sort(key=lambda one: one.us)
    else:
        choice.shuffle(shuffled)
    cuts = sorted(choice.randrange(len(shuffled) + 1) for _ in range(choice.randrange(4)))
    pieces = [shuffled[lo:hi] for lo, hi in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]
    pieces = [piece for piece in pieces if piece]
    choice.shuffle(pieces)
    return pieces


def check_splits(events: list[Event], choice: random.Random) -> None:
    for pieces in ([events], split(events, choice)):
        with warehouse(choice.choice([SMALL, SHORT])) as held:
            held.chunk_rows = choice.choice([1, 7, 500_000])
            for piece in pieces:
                held.load(piece)
                check(held)


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours of a handful of rows are already worked on in slices."""
    monkeypatch.setattr("ingest.states.expected.SLICE_ROWS", 10)
    monkeypatch.setattr("ingest.states.throttles.SLICE_ROWS", 10)


@slow
@given(st.lists(attempts, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_attempts_give_the_same_states_in_any_split(events: list[Event], choice: random.Random) -> None:
    check_splits(events, choice)


@slow
@given(st.lists(postbacks, min_size=1, max_size=25), st.randoms(use_true_random=False))
def test_postbacks_give_the_same_states_in_any_split(events: list[Event], choice: random.Random) -> None:
    check_splits(events, choice)


@slow
@given(st.lists(auctions, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_auctions_give_the_same_states_in_any_split(events: list[Event], choice: random.Random) -> None:
    check_splits(events, choice)
