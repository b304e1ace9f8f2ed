"""The models: the subset of SQL that a second engine runs too, their grain, and the hard ones row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from dashboard.snapshot import Snapshot, open_snapshot
from ingest.engine import engine
from ingest.facts.columns import COLUMNS
from ingest.load import ingest
from ingest.models.relations import (
    CUBES,
    EXCHANGE,
    FACTS,
    HOURLY,
    JOINED,
    KEYED,
    PIECES,
    WHOLE,
    WINDOWS,
    model_sql,
)
from ingest.simulate import simulate

FILES = sorted(path.name for path in files("ingest.models").iterdir() if path.name.endswith(".sql"))
PORTABLE = [name.removesuffix(".sql") for name in FILES if name != "functions.sql"]
FUNCTIONS = {
    "x_us",
    "x_ts",
    "x_idiv",
    "x_left_bucket",
    "x_latency_bucket",
    "x_latency_ms",
    "x_order_key",
    "x_group_key",
}

# ---------------------------------------------------------------------------------------------------------------------
# The subset


def banned(name: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(pattern)


BANNED = [
    banned("ASOF", r"\basof\b"),
    banned("lambda", r"->|\blambda\b"),
    banned("EXCLUDE, REPLACE, COLUMNS", r"\b(exclude|replace|columns)\s*\("),
    banned("date_diff", r"\b(date_?diff|date_?add|date_?sub|age)\s*\("),
    banned("strftime", r"\b(strftime|strptime|date_format|to_char)\s*\("),
    banned("interval", r"\binterval\b"),
    banned("time_bucket", r"\btime_bucket\b"),
    banned("arg_min", r"\b(arg_min|arg_max|min_by|max_by)\b"),
    banned("first, last, any_value, mode", r"\b(first|last|any_value|mode|first_value|last_value|nth_value)\s*\("),
    banned("time but by x_us, x_ts", r"\b(epoch\w*|make_timestamp\w*|to_timestamp|date_trunc|date_part|extract)\s*\("),
    banned("the clock", r"\b(now\s*\(|current_(date|time|timestamp)\b|today\s*\()"),
    banned("//", r"//"),
    banned("/ without DOUBLE", r"(?<!/)/(?!/)"),
    banned("%", r"%"),
    banned("::", r"::"),
    banned("QUALIFY", r"\bqualify\b"),
    banned("PIVOT", r"\b(un)?pivot\b"),
    banned("DISTINCT ON", r"\bdistinct\s+on\b"),
    banned("sample", r"\b(using\s+sample|tablesample)\b"),
    banned("GROUP BY ALL", r"\bgroup\s+by\s+all\b"),
    banned("ORDER BY ALL", r"\border\s+by\s+all\b"),
    banned("count(DISTINCT)", r"\bcount\s*\(\s*distinct\b"),
    banned("approximations", r"\b(approx_\w+|median|quantile\w*|percentile\w*)\s*\("),
    banned("try_cast", r"\btry_cast\b"),
    banned("lists", r"\b(list|list_\w+|unnest|flatten|generate_series|range|array_(?!sort\b|agg\b)\w+)\s*\("),
    banned("texts of lists", r"\b(string_agg|group_concat|listagg)\s*\("),
    banned("brackets and braces", r"[\[\]{}]"),
    banned("SEMI, ANTI, LATERAL, POSITIONAL join", r"\b(semi|anti|lateral|positional)\b"),
    banned("BY NAME", r"\bby\s+name\b"),
    banned("ILIKE, SIMILAR, regular expressions", r"\b(ilike|similar|glob|regexp_\w+)\b"),
    banned("||", r"\|\|"),
    banned("FROM first", r"(^|\()\s*from\b"),
    banned("LIMIT", r"\blimit\b"),
]  # fmt: skip

#: Columns that are never NULL wherever a window orders by them.
NOT_NULL = frozenset(
    {"us", "ts", "rn", "position", "delivery", "auction_id", "partner", "kind", "won", "outcome", "call_us"}
)
#: Of single models: what they filter, or what the canonical relation requires.
ALSO_NOT_NULL = {
    "call_losses": {"loss_reason"},
}
ORDERED_ONLY = ("row_number", "rank", "dense_rank", "lag", "lead", "ntile")
#: Columns that are lists: their type has no name that all engines share.
LISTS = {"conversion_ids"}
TYPES = r"(varchar|bigint|double|boolean|timestamp|decimal\(\d+, ?\d+\))"


def plain(sql: str) -> str:
    """`sql` in lower case, without comments, the insides of text literals, and line ends."""
    text = re.sub(r"--[^\n]*", " ", sql)
    text = re.sub(r"'(?:[^']|'')*'", "''", text)
    return re.sub(r"\s+", " ", text).strip().lower()


def inside(text: str, start: int) -> str:
    """What stands between the bracket at `start` and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at]
    raise AssertionError(f"unbalanced: {text[start:]}")


def parts(text: str, separator: str = ",") -> list[str]:
    """`text` cut at the separators that stand in no bracket."""
    found, depth, last = [], 0, 0
    for at, sign in enumerate(text):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0 and text.startswith(separator, at):
            found.append(text[last:at].strip())
            last = at + len(separator)
    return [*found, text[last:].strip()]


def unportable(sql: str, not_null: frozenset[str] = NOT_NULL) -> list[str]:
    """What in `sql` lies outside the subset."""
    text = plain(sql)
    faults = [name for name, pattern in BANNED if pattern.search(text)]
    return faults + list_faults(text) + window_faults(text, not_null) + cast_faults(text)


def list_faults(text: str) -> list[str]:
    kept = re.sub(r"array_sort\(array_agg\((x_pair\(|\w+\)\))", "", text)
    if not re.search(r"\barray_(sort|agg)\b", kept):
        return []
    return ["a list that is not array_sort(array_agg(...)) of a column or of x_pair(...)"]


def window_faults(text: str, not_null: frozenset[str]) -> list[str]:
    faults = []
    for match in re.finditer(r"\bover\b\s*(\()?", text):
        if not match[1]:
            faults.append("a named window")
            continue
        window = inside(text, match.end() - 1)
        before = text[: match.start()]
        called = re.search(r"(\w+)\s*\([^()]*\)\s*$", before)
        _, ordered, keys = window.partition("order by ")
        if not ordered:
            if called and called[1] in ORDERED_ONLY:
                faults.append(f"{called[1]} over an unordered window")
            continue
        keys, _, frame = keys.partition(" rows between ")
        if not frame and not (called and called[1] in ORDERED_ONLY):
            faults.append("an ordered window without ROWS BETWEEN")
        for key in parts(keys):
            column = re.sub(r"^x_us\((.*)\)$", r"\1", key).rpartition(".")[2]
            if not re.search(r" nulls (first|last)$", key) and column not in not_null:
                faults.append(f"{key} orders without NULLS FIRST or LAST")
    return faults


def cast_faults(text: str) -> list[str]:
    """Casts of what may be a double to an integer, but for `floor(...)`; conditions of CASE are no results."""
    faults = []
    for match in re.finditer(r"\bcast\s*\(", text):
        value, _, kind = inside(text, match.end() - 1).rpartition(" as ")
        if kind not in ("bigint", "int", "integer", "smallint", "hugeint"):
            continue
        result = re.sub(r"\bwhen\b.*?\bthen\b", "then", value)
        result = re.sub(r"\bx_latency_bucket\([^()]*\)|\bfloor\(.*\)", "", result)
        if re.search(r"_ms\b|_s\b|\bas double\b|\b(avg|ln|exp|pow|power|sqrt|log\w*|round)\s*\(|\d\.\d", result):
            faults.append(f"cast({value} as {kind}) without floor")
    return faults


def output_faults(sql: str) -> list[str]:
    """Columns of the last select that are not cast to a type by name."""
    text = parts(plain(sql), "select ")[-1]
    columns = parts(parts(text, " from ")[0])
    cast = re.compile(rf"cast\(.* as {TYPES}\) as \w+|x_ts\(\w+(\.\w+)?\) as ts")
    return [column for column in columns if not cast.fullmatch(column) and column not in LISTS]


@pytest.mark.parametrize("name", PORTABLE)
def test_a_model_keeps_to_the_portable_subset(name: str) -> None:
    sql = model_sql(name)
    assert unportable(sql, NOT_NULL | ALSO_NOT_NULL.get(name, set())) == []
    assert output_faults(sql) == []
    assert set(re.findall(r"\bx_\w+(?=\s*\()", plain(sql))) <= FUNCTIONS | {"x_pair"}


def test_the_functions_are_all_defined_once() -> None:
    defined = re.findall(r"create or replace macro (x_\w+)", model_sql("functions"))
    assert sorted(defined) == sorted(FUNCTIONS)


@pytest.mark.parametrize(
    "snippet",
    [
        "select * from a asof join b on a.k = b.k and a.us >= b.us",
        "select list_transform(l, x -> x + 1) from a",
        "select * exclude (ts) from a",
        "select * replace (1 as b) from a",
        "select date_diff('ms', a, b) from t",
        "select strftime(ts, '%H') from t",
        "select ts + interval 1 hour from t",
        "select time_bucket(x, ts) from t",
        "select arg_min(a, b) from t",
        "select max_by(a, b) from t",
        "select first(a) from t",
        "select any_value(a) from t",
        "select mode(a) from t",
        "select first_value(a) over (partition by b order by us rows between 1 preceding and current row) from t",
        "select epoch_us(ts) from t",
        "select make_timestamp(us) from t",
        "select date_trunc('hour', ts) from t",
        "select extract('hour' from ts) from t",
        "select now()",
        "select current_timestamp",
        "select us // 60 from t",
        "select a / b from t",
        "select a % 2 from t",
        "select a::bigint from t",
        "select a from t qualify row_number() over (order by us) = 1",
        "pivot t on a using sum(b)",
        "select distinct on (a) b from t",
        "select a from t using sample 10",
        "select a, count(*) from t group by all",
        "select a from t order by all",
        "select count(distinct a) from t",
        "select list(a) from t",
        "select unnest(a) from t",
        "select array_length(a) from t",
        "select array_agg(a) from t",
        "select array_sort(array_agg(a + 1)) from t",
        "select a[1] from t",
        "select {'a': 1}",
        "select a from t semi join u on t.a = u.a",
        "select a from t union all by name select a from u",
        "from t select a",
        "select * from (from t)",
        "select a || b from t",
        "select try_cast(a as bigint) from t",
        "select cast(latency_ms as bigint) from t",
        "select cast(sum(case when us > 1 then latency_ms end) as bigint) from t",
        "select cast(ln(us) as bigint) from t",
        "select cast(a * 1.5 as integer) from t",
        "select row_number() over (partition by a) from t",
        "select lag(a) over (partition by b) from t",
        "select row_number() over (order by us, attempt) from t",
        "select row_number() over (order by us, attempt desc) from t",
        "select sum(a) over (partition by b order by us) from t",
        "select sum(a) over w from t window w as (partition by b)",
    ],
)
def test_what_lies_outside_the_subset_is_found(snippet: str) -> None:
    assert unportable(snippet)


@pytest.mark.parametrize(
    "snippet",
    [
        "-- interval, a // b\nselect 'a -> b :: 100 %' as a from t",
        "select cast(floor(latency_ms) as bigint), cast(case when latency_ms > 0 then 1 else 0 end as bigint) from t",
        "select row_number() over (partition by a order by us, t.attempt asc nulls last) from t",
        "select lag(a) over (partition by b order by position), max(us) over (partition by b) from t",
        "select array_sort(array_agg(x_pair(k, v))) from t",
        "select x_idiv(x_us(ts), 60) from t",
    ],
)
def test_what_lies_inside_the_subset_is_let_through(snippet: str) -> None:
    assert unportable(snippet) == []


@pytest.mark.parametrize("sql", ["select a from t", "select cast(a as bigint) as a, b as c from t", "select * from t"])
def test_an_output_without_a_cast_is_found(sql: str) -> None:
    assert output_faults(sql)


# ---------------------------------------------------------------------------------------------------------------------
# The grain

#: Key of every stored model, `?` behind what may be NULL; None where a row is one event and has no key of its own.
KEYS: dict[str, str | None] = {
    "calls": "auction_id partner call_us",
    "retries": "auction_id partner call_us retry_no",
    "auction_stages": "auction_id",
    "deliveries": None,
    "orders": "tenant? event_type? external_order_id",
    "order_retries": "tenant? event_type? external_order_id retry_no",
    "postback_results": None,
    "hour_nodes": "hour_us partner node?",
    "hour_latency": "hour_us partner bucket",
    "breaker_marks": "hour_us partner node? us",
    "breaker_states": "partner node? place",
    "replays": None,
    "key_reuses": "key_id? idempotency_key",
    "chain_steps": None,
    "chain_ends": "auction_id partner call_us",
    "auction_clicks": "auction_id click_id",
    "order_clicks": "tenant? event_type? external_order_id click_id",
    "faulty_orders": "tenant? event_type? external_order_id",
    "converted": "auction_id",
    "breaker_pieces": "hour_us partner node? from_us",
    "window_pieces": "hour_us key key_id? endpoint? own_length? window_us",
}
#: Key of every cube, behind its bucket.
CUBE_KEYS = {
    "waits": "call_{grain}_us stream key? endpoint? open_until_us?",
    "wasted": "stream key? endpoint?",
    "attempts": "partner node? outcome reason?",
    "calls": "stream partner? stage? reason? fate?",
    "retries": "stream partner? trigger retry_no region?",
    "budgets": "partner trigger left_from_ms?",
    "rescues": "partner trigger retry_no currency?",
    "notices": "kind partner? currency?",
    "auctions": "stage",
    "converted": "",
    "postbacks": "key_id? endpoint? outcome stage reason?",
    "audit": "stream partner? rule severity",
    "chains": "partner trigger trigger_bit before_bits retry_no feasible? unfit_before currency?",
    "ends": "partner trigger before_bits retries feasible? unfit_before",
}
STORED_MODELS = [
    *(relation for keyed in KEYED for relation in keyed.stored),
    *HOURLY,
    *WHOLE,
    *PIECES,
    *WINDOWS,
    *JOINED,
    *(f"{grain}_{cube.name}" for cube in CUBES for grain in ("minute", "hour")),
]


def key_of(relation: str) -> str | None:
    """The key columns of a stored relation; a cube's begin with its bucket."""
    grain, _, cube = relation.partition("_")
    return KEYS[relation] if relation in KEYS else f"{grain}_us {CUBE_KEYS[cube]}".format(grain=grain).strip()


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Logs that hold every kind of event, with retries, duplicates and throttled keys."""
    folder = tmp_path_factory.mktemp("models")
    simulate(folder / "logs", 9, 4, 6.0)
    ingest([str(folder / "logs")], folder / "warehouse")
    return open_snapshot(folder / "warehouse")


@pytest.mark.parametrize("name", PORTABLE)
def test_the_first_line_of_a_model_is_its_grain(name: str) -> None:
    assert re.match(r"-- one row per \w", model_sql(name))


@pytest.mark.parametrize("relation", STORED_MODELS)
def test_the_grain_names_the_key(relation: str) -> None:
    grain = model_sql(relation).splitlines()[0].replace("latency bucket", "bucket")
    words = set(re.findall(r"\w+", grain))
    for column in (key_of(relation) or "").replace("?", "").split():
        assert column in words or column.removesuffix("_us") in words, f"{column} is not in: {grain}"


@pytest.mark.parametrize("relation", STORED_MODELS)
def test_the_key_is_unique_and_not_null(simulated: Snapshot, relation: str) -> None:
    key = key_of(relation)
    rows = simulated.query(f"select count(*) from {relation}")[0][0]
    assert rows > 0, "the simulated logs say nothing about this relation"
    if key is None:
        facts = {"deliveries": "notices", "postback_results": "postbacks"}.get(relation)
        if facts is None:
            return
        assert simulated.query(f"select count(*) from {facts}") == [(rows,)]
        return
    columns = key.replace("?", "").split()
    needed = [column for column in key.split() if not column.endswith("?")]
    assert simulated.query(f"select {', '.join(columns)} from {relation} group by all having count(*) > 1") == []
    holes = " or ".join(f"{column} is null" for column in needed)
    assert simulated.query(f"select count(*) from {relation} where {holes}") == [(0,)]


#: Columns of cubes that are no sums.
ADDED = {"last_success_us": "max", "first_us": "min"}


@pytest.mark.parametrize("cube", CUBES, ids=lambda cube: cube.name)
def test_hours_are_the_sums_of_their_minutes(simulated: Snapshot, cube: Any) -> None:
    columns = [row[0] for row in simulated.query(f"describe hour_{cube.name}")]
    dims = (key_of(f"hour_{cube.name}") or "").replace("?", "").split()
    sums = [column for column in columns if column not in dims]
    chosen = ", ".join(f"{ADDED.get(name, 'sum')}({name})" for name in sums)
    hours = [re.sub(r"^(\w*)hour_us$", r"\1minute_us // 3600000000 * 3600000000", dim) for dim in dims]
    minutes = ", ".join([*hours, chosen])
    by = ", ".join(str(place) for place in range(1, len(dims) + 1))
    summed = f"select {minutes} from minute_{cube.name} group by {by}"
    kept = f"select {', '.join([*dims, *sums])} from hour_{cube.name}"
    assert simulated.query(f"({summed}) except ({kept})") == []
    assert simulated.query(f"({kept}) except ({summed})") == []


@pytest.mark.parametrize(
    ("cube", "bases"),
    [
        ("select sum(attempts) from minute_attempts", "select count(*) from attempts"),
        ("select sum(attempts) from hour_nodes", "select count(*) from attempts"),
        (
            "select sum(attempts) from hour_latency",
            "select count(*) from attempts where latency_ms is not null and outcome not like 'not_sent%'",
        ),
        ("select sum(calls) from minute_calls where stream = 'exchange'", "select count(*) from calls"),
        (
            "select sum(limited), sum(told) from minute_waits",
            "select count(*), count(retry_after_s) from throttles",
        ),
        ("select sum(wasted) from minute_wasted", "select count(*) from wasted_requests"),
        ("select sum(calls) from minute_calls where stream = 'postback'", "select count(*) from orders"),
        (
            "select sum(calls), sum(attempts_sent), sum(not_sent), sum(retries), sum(retried), sum(recovered),"
            " sum(late_retries), sum(late_checked), sum(answered_attempts) from minute_calls where stream = 'exchange'",
            "select count(*), sum(attempts_sent), sum(not_sent), sum(retries), sum(retried), sum(recovered),"
            " sum(late_retries), sum(late_checked), sum(answered_attempts) from calls",
        ),
        ("select sum(attempts_sent + not_sent) from calls", "select count(*) from attempts"),
        (
            "select sum(retries), sum(successes), sum(bids) from minute_retries where stream = 'exchange'",
            "select count(*), sum(success), sum(bid) from retries",
        ),
        (
            "select sum(retries), sum(successes) from minute_retries where stream = 'postback'",
            "select count(*), sum(success) from order_retries",
        ),
        (
            "select sum(deliveries), sum(uniques), sum(duplicates), sum(orphans) from minute_notices",
            "select count(*), sum(is_first), sum(1 - is_first), sum(is_first * orphan) from deliveries",
        ),
        (
            "select sum(price) from minute_notices",
            "select sum(price) from deliveries where is_first = 1",
        ),
        (
            "select sum(wins), sum(price) from minute_rescues",
            "select count(*), sum(price) from deliveries where kind = 'win' and is_first = 1 and orphan = 0"
            " and last_bid_retry_no is not null",
        ),
        ("select sum(auctions) from minute_auctions", "select count(*) from auction_stages"),
        (
            "select count(*) from auction_stages",
            "select count(*) from (select auction_id from attempts union select auction_id from auctions)",
        ),
        ("select sum(postbacks) from minute_postbacks", "select count(*) from postbacks"),
        ("select min(first_us) from hour_postbacks", "select min(epoch_us(ts)) from postbacks"),
        ("select sum(requests) from window_pieces", "select count(*) from postbacks"),
        (
            "select sum(attempts + blocked) from breaker_pieces",
            "select count(*) from attempts where outcome <> 'not_sent_limit'"
            " and partner in (select partner from breaker_states)",
        ),
        (
            "select sum(auctions) from minute_converted",
            "select count(distinct auction_id) from deliveries where kind = 'click' and orphan = 0 and click_id in"
            " (select click_id from postbacks where outcome = 'accepted')",
        ),
        (
            "select count(*) from orders",
            "select count(*) from (select distinct coalesce(tenant, key_id), event_type, external_order_id"
            " from postbacks where external_order_id is not null)",
        ),
    ],
)  # fmt: skip
def test_a_cube_sums_its_base(simulated: Snapshot, cube: str, bases: str) -> None:
    assert simulated.query(cube) == simulated.query(bases)


# ---------------------------------------------------------------------------------------------------------------------
# Given these facts, expect those rows

T0 = datetime(2026, 9, 14, 11)
US0 = 1_789_383_600_000_000
Row = dict[str, Any]


class Bench:
    """The steps of the exchange, order and conversion models over facts that a test gives."""

    def __init__(self, folder: Path) -> None:
        self.con = engine(folder)
        self.con.execute(
            "create table settings as select 600000000::bigint as call_span_us, 40::double as reserve_ms,"
            " 604800000000::bigint as notice_us; create table evidence as select 1::bigint as billing"
        )
        for relation in FACTS:
            columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS[relation])
            self.con.execute(f"create table {relation} ({columns})")

    def add(self, relation: str, at_s: float, **values: Any) -> None:
        """One fact, `at_s` seconds after 11:00:00."""
        row = {"ts": T0 + timedelta(seconds=at_s)} | values
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" for _ in row)
        self.con.execute(f"insert into {relation} ({names}) values ({marks})", list(row.values()))

    def attempt(self, at_s: float, outcome: str = "no_bid", **values: Any) -> None:
        self.add("attempts", at_s, **{"auction_id": "A", "partner": "p", "outcome": outcome} | values)

    def postback(self, at_s: float, outcome: str = "accepted", **values: Any) -> None:
        self.add("postbacks", at_s, **{"key_id": "k", "http_status": 200, "outcome": outcome} | values)

    def run(self, name: str, columns: str, order: str = "all") -> list[tuple[Any, ...]]:
        """Columns of a model, after the steps before it."""
        keyed = next((keyed.steps for keyed in KEYED if name in keyed.steps), (name,))
        steps = [*(HOURLY + WHOLE if name in EXCHANGE.steps else ()), *keyed]
        for step in steps[: steps.index(name) + 1]:
            self.con.execute(f"create or replace table {step} as {model_sql(step)}")
        return self.con.execute(f"select {columns} from {name} order by {order}").fetchall()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.con.close()


def us(seconds: float) -> int:
    return US0 + round(seconds * 1_000_000)


def test_an_id_used_again_after_ten_minutes_opens_a_call(bench: Bench) -> None:
    for at in (0, 600, 600.000001, 1200, 1200.000001, 1200.000002, 5000):
        bench.attempt(at)
    bench.attempt(0, partner="q")
    bench.attempt(300, partner="q")
    assert bench.run("call_starts", "partner, call_us, alone") == [
        ("p", us(0), 0),
        ("p", us(600.000001), 0),
        ("p", us(1200.000002), 0),
        ("p", us(5000), 0),
        ("q", us(0), 0),
    ]
    assert bench.run("calls", "partner, call_us, attempts_sent") == [
        ("p", us(0), 2),
        ("p", us(600.000001), 3),
        ("p", us(1200.000002), 1),
        ("p", us(5000), 1),
        ("q", us(0), 2),
    ]


def test_a_chain_of_close_attempts_is_cut_by_its_first_not_by_its_gaps(bench: Bench) -> None:
    for at in range(0, 1801, 300):
        bench.attempt(at)
    assert bench.run("calls", "call_us, attempts_sent") == [(us(0), 3), (us(900), 3), (us(1800), 1)]


def test_equal_instants_lie_in_one_call_and_a_lone_attempt_is_alone(bench: Bench) -> None:
    bench.attempt(0)
    bench.attempt(0)
    bench.attempt(7, auction_id="B")
    assert bench.run("call_starts", "auction_id, call_us, alone") == [("A", us(0), 0), ("B", us(7), 1)]


def test_ids_are_compared_to_the_letter(bench: Bench) -> None:
    for auction, partner in (("a", "p"), ("A", "p"), ("A ", "p"), ("A", "P"), ("A", "p ")):
        bench.attempt(0, auction_id=auction, partner=partner)
    assert len(bench.run("call_starts", "auction_id, partner")) == 5


def test_attempts_of_a_call_stand_by_time_number_request_and_rank(bench: Bench) -> None:
    bench.attempt(0, "timeout", attempt=2)
    bench.attempt(0, "no_bid", attempt=1, request_id="b")
    bench.attempt(0, "server_error", attempt=1, request_id="b")
    bench.attempt(0, "bid", attempt=1, request_id="a")
    bench.attempt(0, "reset")
    bench.attempt(-1, "not_sent_limit", attempt=9)
    assert bench.run("call_attempts", "outcome, sent_no, trigger_outcome", "position") == [
        ("not_sent_limit", None, None),
        ("bid", 0, None),
        ("server_error", 1, "bid"),
        ("no_bid", 2, "server_error"),
        ("timeout", 3, "no_bid"),
        ("reset", 4, "timeout"),
    ]


def test_equal_numbers_are_attempts_and_the_unsent_are_no_triggers(bench: Bench) -> None:
    bench.attempt(0, "connect_error", attempt=1)
    bench.attempt(1, "timeout", attempt=2)
    bench.attempt(2, "not_sent_breaker", attempt=2)
    bench.attempt(3, "bid", attempt=2)
    assert bench.run("call_attempts", "outcome, sent_no, trigger_outcome, is_last, is_last_sent", "position") == [
        ("connect_error", 0, None, 0, 0),
        ("timeout", 1, "connect_error", 0, 0),
        ("not_sent_breaker", None, None, 0, 0),
        ("bid", 2, "timeout", 1, 1),
    ]
    assert bench.run("retries", "trigger, retry_no, success, bid") == [
        ("connect_error", 1, 0, 0),
        ("timeout", 2, 1, 1),
    ]
    assert bench.run("calls", "fate, last_bid_trigger, last_bid_retry_no") == [("recovered_2", "timeout", 2)]


@pytest.mark.parametrize(
    ("original", "retry", "late"),
    [
        # A: refused at 15 ms; a retry at once is over by 135, the deadline is 260.
        ({"outcome": "connect_error", "elapsed_ms": 0, "latency_ms": 15}, {"elapsed_ms": 15, "latency_ms": 120}, 0),
        # B: no answer for 120 ms; a retry that takes its whole timeout is over by 240.
        ({"outcome": "timeout", "elapsed_ms": 0, "latency_ms": 120}, {"elapsed_ms": 120, "latency_ms": 120}, 0),
        # C: nbr 5 at 30 ms.
        ({"outcome": "no_bid", "elapsed_ms": 0, "latency_ms": 30}, {"elapsed_ms": 30, "latency_ms": 30}, 0),
        ({"outcome": "timeout", "elapsed_ms": 0, "latency_ms": 120}, {"elapsed_ms": 140, "latency_ms": 120}, 0),
        ({"outcome": "timeout", "elapsed_ms": 0, "latency_ms": 120}, {"elapsed_ms": 140, "latency_ms": 120.5}, 1),
        ({"outcome": "timeout"}, {"elapsed_ms": None, "latency_ms": 120}, None),
        ({"outcome": "timeout"}, {"elapsed_ms": 140, "latency_ms": None}, None),
        ({"outcome": "timeout"}, {"elapsed_ms": 400, "latency_ms": 1, "budget_ms": 500}, 0),
    ],
)  # fmt: skip
def test_a_retry_is_late_beyond_budget_less_reserve(bench: Bench, original: Row, retry: Row, late: int | None) -> None:
    bench.add("auctions", 0, auction_id="A", tmax_ms=300)
    bench.attempt(0, original.pop("outcome"), **original)
    bench.attempt(0.2, "bid", **retry)
    assert bench.run("call_attempts", "late", "position desc limit 1") == [(late,)]
    assert bench.run("calls", "late_retries, late_checked") == [(late or 0, int(late is not None))]


def test_without_any_budget_nothing_is_late(bench: Bench) -> None:
    bench.attempt(0, "timeout", elapsed_ms=0, latency_ms=120)
    bench.attempt(1, "bid", elapsed_ms=1000, latency_ms=120)
    assert bench.run("calls", "late_checked, stage") == [(0, 4)]


@pytest.mark.parametrize(
    ("chain", "fate"),
    [
        (["connect_error"], "not_retried"),
        (["connect_error", "connect_error"], "exhausted"),
        (["connect_error", "not_sent_breaker"], "stopped"),
        (["connect_error", "connect_error", "not_sent_limit"], "stopped"),
        (["connect_error", "no_bid", "not_sent_limit"], "recovered_1"),
        (["timeout", "timeout", "bid"], "recovered_2"),
        (["timeout", "cancelled"], "not_retried"),
        (["not_sent_breaker", "timeout", "no_bid"], "recovered_1"),
        (["no_bid", "bid"], None),
        (["cancelled", "bid"], None),
        (["not_sent_limit"], None),
    ],
)
def test_fate_of_calls_whose_original_failed(bench: Bench, chain: list[str], fate: str | None) -> None:
    for number, outcome in enumerate(chain):
        bench.attempt(number, outcome)
    assert bench.run("calls", "fate") == [(fate,)]


def test_a_call_that_ran_out_of_time_says_so(bench: Bench) -> None:
    bench.attempt(0, "timeout")
    bench.attempt(1, "not_sent_limit", not_sent="no_time")
    assert bench.run("calls", "fate, not_sent") == [("no_time", 1)]


def test_cancelled_retries_are_sent_and_in_no_retry_row(bench: Bench) -> None:
    bench.attempt(0, "timeout")
    bench.attempt(1, "cancelled")
    bench.attempt(2, "bid")
    assert bench.run("retries", "trigger, retry_no, success") == [("cancelled", 2, 1)]
    assert bench.run("calls", "attempts_sent, cancelled_attempts, answered_attempts") == [(3, 1, 1)]


def notice(bench: Bench, at_s: float, kind: str = "win", **values: Any) -> None:
    bench.add("notices", at_s, **{"kind": kind, "auction_id": "A", "imp_id": "1"} | values)


DELIVERY = "partner, is_first, orphan, currency, price"


def test_a_notice_without_partner_takes_the_winner_then_the_only_bidder(bench: Bench) -> None:
    bench.attempt(0, "bid")
    bench.attempt(0, "no_bid", partner="q")
    notice(bench, 1)
    assert bench.run("deliveries", "partner, orphan") == [("p", 0)]
    bench.add("auctions", 0, auction_id="A", winner="q")
    assert bench.run("deliveries", "partner, orphan") == [("q", 0)]


def test_with_two_bidders_and_no_winner_it_is_an_orphan(bench: Bench) -> None:
    bench.attempt(0, "bid")
    bench.attempt(0, "bid", partner="q")
    notice(bench, 1, price=2)
    notice(bench, 2, price=2)
    assert bench.run("deliveries", DELIVERY, "us") == [(None, 1, 1, "USD", 2), (None, 0, 1, "USD", 2)]


def test_a_notice_counts_once_and_the_first_known_price_is_its_price(bench: Bench) -> None:
    bench.attempt(0, "bid")
    notice(bench, 3, partner="p", price=9, currency="EUR")
    notice(bench, 1, partner="p")
    notice(bench, 2, partner="p", price="1.25")
    notice(bench, 2, partner="p", price="1.25", imp_id="2", currency="UAH")
    notice(bench, 2, "billing", partner="p")
    assert bench.run("deliveries", f"kind, imp_id, {DELIVERY}", "kind, imp_id, us") == [
        ("billing", "1", "p", 1, 0, None, None),
        ("win", "1", "p", 1, 0, "USD", 1.25),
        ("win", "1", "p", 0, 0, "USD", 1.25),
        ("win", "1", "p", 0, 0, "USD", 1.25),
        ("win", "2", "p", 1, 0, "UAH", 1.25),
    ]


def test_a_notice_joins_the_latest_call_of_seven_days_before_to_a_minute_after(bench: Bench) -> None:
    week = 7 * 86400
    bench.attempt(0, "bid")
    bench.attempt(1000, "bid")
    for at in (-60.000001, -60, 999, 1000 - 60, week + 1000, week + 1000.000001):
        notice(bench, at, partner="p", imp_id=str(at))
    assert bench.run("deliveries", "call_us, orphan", "us") == [
        (None, 1),
        (us(0), 0),
        (us(1000), 0),
        (us(1000), 0),
        (us(1000), 0),
        (None, 1),
    ]


def test_a_later_proof_implies_the_earlier_stages(bench: Bench) -> None:
    bench.attempt(0, "timeout")
    notice(bench, 1, "billing", partner="p")
    bench.attempt(0, "bid", auction_id="B", reject_reason="floor")
    bench.add("auctions", 0, auction_id="B", winner="p")
    bench.attempt(0, "timeout", auction_id="C")
    notice(bench, 2, "click", auction_id="C", partner="p")
    notice(bench, 1, "impression", auction_id="D", partner="p")
    bench.attempt(0, "bid", auction_id="D")
    assert bench.run("calls", "auction_id, stage, reason") == [
        ("A", 6, "no_clicked"),
        ("B", 5, "no_billed"),
        ("C", 7, None),
        ("D", 4, "no_win"),
    ]
    bench.con.execute("update evidence set billing = 0")
    assert bench.run("calls", "stage, reason", "auction_id desc limit 1") == [(6, "no_clicked")]


def test_losses_name_the_first_known_reason(bench: Bench) -> None:
    bench.attempt(0, "bid")
    notice(bench, 1, "loss", partner="p")
    notice(bench, 2, "loss", partner="p", loss_reason="102")
    notice(bench, 3, "loss", partner="p", loss_reason="1")
    bench.attempt(0, "bid", auction_id="B", reject_reason="floor")
    bench.attempt(0, "bid", auction_id="C", elapsed_ms=0, latency_ms=261, budget_ms=300)
    bench.attempt(0, "no_bid", auction_id="D", reason="no_reason")
    bench.attempt(0, "timeout", auction_id="E")
    bench.attempt(0, "not_sent_breaker", auction_id="F")
    assert bench.run("calls", "stage, reason", "auction_id") == [
        (4, "102"),
        (3, "floor"),
        (3, "late"),
        (2, "no_reason"),
        (1, "timeout"),
        (0, "not_sent_breaker"),
    ]


def test_auctions_are_the_union_of_events_and_attempts(bench: Bench) -> None:
    bench.add("auctions", 5, auction_id="A")
    bench.attempt(0, "bid")
    bench.attempt(1, "no_bid", auction_id="B")
    bench.add("auctions", 2, auction_id="C", winner="nobody")
    bench.attempt(1, "not_sent_limit", auction_id="D")
    assert bench.run("auction_stages", "auction_id, stage, us") == [
        ("A", 2, us(5)),
        ("B", 1, us(1)),
        ("C", 0, us(2)),
        ("D", 0, us(1)),
    ]


def test_an_order_ends_with_its_first_acceptance(bench: Bench) -> None:
    order = {"external_order_id": "o", "event_type": "sale"}
    bench.postback(0, "rate_limited", http_status=429, **order)
    bench.postback(1, "server_error", http_status=503, key_id="k2", tenant="k", **order)
    bench.postback(2, "accepted", **order)
    bench.postback(3, "accepted", **order)
    bench.postback(0, "client_error", http_status=400, external_order_id="o")
    bench.postback(0, "accepted")
    assert bench.run("orders", "event_type, partner, requests, attempts_sent, retries, fate") == [
        ("sale", "k", 4, 3, 2, "recovered_2"),
        (None, "k", 1, 1, 0, "not_retried"),
    ]
    assert bench.run("order_retries", "trigger, retry_no, success") == [
        ("rate_limited", 1, 0),
        ("server_error", 2, 1),
    ]


RESULT = "stage, reason, duplicate"


def test_the_first_accepted_of_a_conversion_is_unique(bench: Bench) -> None:
    bench.postback(0, conversion_id="c", tenant="t")
    bench.postback(1, conversion_id="c", tenant="t", duplicate=True)
    bench.postback(2, conversion_id="c", tenant="u")
    bench.postback(3, conversion_id="c", tenant="t", key_id="other")
    bench.postback(4, "server_error", conversion_id="c", tenant="t", http_status=503)
    assert bench.run("postback_results", RESULT, "us") == [
        (4, None, 0),
        (3, "duplicate", 1),
        (4, None, 0),
        (3, "duplicate", 0),
        (2, "server_error", 0),
    ]


def test_without_a_conversion_the_order_decides_and_without_both_itself(bench: Bench) -> None:
    bench.postback(0, external_order_id="o")
    bench.postback(1, external_order_id="o")
    bench.postback(2, external_order_id="o", event_type="sale")
    bench.postback(3)
    bench.postback(4)
    bench.postback(5, "rate_limited", http_status=429)
    bench.postback(6, "stale_timestamp", http_status=401)
    bench.postback(7, "replay", http_status=409)
    assert bench.run("postback_results", RESULT, "us") == [
        (4, None, 0),
        (3, "duplicate", 0),
        (4, None, 0),
        (4, None, 0),
        (4, None, 0),
        (0, "rate_limited", 0),
        (1, "stale_timestamp", 0),
        (1, "replay", 0),
    ]


def test_an_order_first_accepted_under_a_conversion_makes_the_next_a_duplicate(bench: Bench) -> None:
    bench.postback(0, external_order_id="o", conversion_id="c")
    bench.postback(1, external_order_id="o")
    bench.postback(2, external_order_id="o", conversion_id="d")
    assert bench.run("postback_results", RESULT, "us") == [(4, None, 0), (3, "duplicate", 0), (4, None, 0)]


def test_breaker_marks_start_runs_and_an_unmarked_sent_attempt_is_closed(bench: Bench) -> None:
    bench.attempt(0, breaker="closed")
    bench.attempt(1, "not_sent_breaker", breaker="open")
    bench.attempt(2, "not_sent_breaker", breaker="open")
    bench.attempt(3, "not_sent_breaker")
    bench.attempt(4)
    bench.attempt(5, breaker="half_open")
    bench.attempt(6, breaker="half_open")
    bench.attempt(3600, breaker="half_open")
    bench.attempt(2, node="n2")
    bench.attempt(1, node="n2")
    bench.attempt(0, "not_sent_limit", partner="q", node="n3")
    assert bench.run("breaker_marks", "node, state, marked, us", "node nulls first, us") == [
        (None, "closed", 1, us(0)),
        (None, "open", 1, us(1)),
        (None, "closed", 1, us(4)),
        (None, "half_open", 1, us(5)),
        (None, "half_open", 1, us(3600)),
        ("n2", "closed", 0, us(1)),
    ]


@pytest.mark.parametrize("name", EXCHANGE.steps)
def test_no_facts_make_no_rows(bench: Bench, name: str) -> None:
    assert bench.run(name, "count(*)") == [(0,)]
