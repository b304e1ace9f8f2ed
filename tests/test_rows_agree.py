"""The engine's pass and the definition give the same rows, whatever the lines."""

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.facts.columns import COLUMNS
from ingest.formats.registry import load_format
from ingest.formats.spec import State
from ingest.rows.loader import Counts, RowLoader
from ingest.rows.record import Reader
from ingest.rows.times import parse_time

pytestmark = pytest.mark.slow

NATIVE = load_format("native")
ALWAYS, NEVER = 0, 1 << 60

#: JSON texts of values that parsers, casts and engines read differently.
LITERALS = [
    "null", "true", "false", '""', '" "', '"x"', "0", "-0", "1", "2", "-1", "7.0", "007", "1.5", "1E5", "1e-7",
    "1e300", "1e400", "NaN", "nan", "-Infinity", "inf", "-nan", "+5", ".5", "5.", "0x10", "1_000",
    "18446744073709551617", '"NaN"', '"inf"', '"1_000"', '"0x10"', '"+5"', '"+-5"', '"+-0"', '"-0"', '" 12 "', '"5."',
    '".5"', '"1e3"', '"007"', '"503.0"', '"2.0"', '"1.5"', '"9223372036854775807"', '"9223372036854775808"',
    '"-9223372036854775808"', "9007199254740993", "9007199254740993.5", "123456789012.123456", "0.1234565",
    "0.30000000000000004", "1e12", "1789383600", "1789383600123", "1789383600123456", "1789383600123456789",
    "1789383600.9999999", '"1789383600"', '"2026-09-14T11:00:00Z"', '"2026-09-14t11:00:00.5z"',
    '"2026-09-14 14:00:00.123456789+0300"', '"2026-09-14T11:00:00+03"', '"2026-09-14T11:00:00-15:59"',
    '"2026-09-14T11:00:00+99:00"', '"2026-09-14T11:00:00"', '"2026-09-14T24:00:00Z"', '"2026-09-14T23:59:60Z"',
    '"2026-02-30T11:00:00Z"', '"2101-01-01T00:00:00Z"', '"epoch"', '"2000-01-01T00:00:00+00:01"', '"2026-09-14"',
    '"2026-09-14T11:00:00.Z"', '"2026-09-14T11:00:00 Z"', '"infinity"', '"2026-9-14T11:00:00Z"',
    '"2026/09/14 11:00:00Z"', '"0001-01-01T00:00:00Z"', '" 2026-09-14T11:00:00Z"', "{}", "[]", '{"a":1E5}', "[1,2]",
    '"000026e-85383750"', '"00.5"', '"-012e3"', "1e-85383750", "12345678901234567890e5",
    '"{"', '"[x"', '"true"', '"TRUE"', '"false"', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"a\\tb"', '"café"',
    '"closed"', '"OPEN"', '"half-open"', '"breaker"', '"Limit"', '"no time"', '"timeout"', '"x509: bad"',
    '"Post \\"https://d.example/b?ifa=1\\": EOF"', '"eof"', '"192.0.2.7"', '"2001:db8::7"', '"ab:cd.g"', '"23"',
    '"Mon, 14 Sep 2026 11:00:30 GMT"', '"soon"', '"-3"', "200", "204", '"200"', "429", "200.0", "2e2",
]  # fmt: skip
BODIES = [
    '{"seatbid":[{"bid":[{"price":1.25}]}]}', '{"seatbid":[]}', "{}", '{"nbr":2}', '{"nbr":"2.0","nbr":3}',
    '{"seatbid":[{"bid":[{"price":"0.5"},{"price":2}]},{"bid":[{"price":-1}]}],"cur":"EUR"}', '{"seatbid":{}}',
    '{"seatbid":[{"bid":[{"price":0}]}]}', '{"seatbid":[{"bid":[{"price":0,"dealid":"d"}]}]}', '{"seatbid":null}',
    '{"seatbid":[5,null,{"bid":{}},{"bid":[7,null,{"price":true}]}]}', '{"seatbid":"","cur":5}', '{"cur":["USD"]}',
    '{"seatbid":[{"bid":[{"price":NaN}]}]}', '{"seatbid":[{"bid":[{"price":1e400}]}]}', '{"a":1,}', '{"a":[1, ]}',
    '{"seatbid":[{"bid":[{"price":1e13}]}]}', '{"seatbid":[{"bid":[{"price":1e-9}]}]}', '{"a":"\\ud800"}', "{} x",
    '{"seatbid":[{"bid":[{"price":0.1234565},{"price":" 7 "},{"price":"1_0"}]}]}', '{"seatbid":[', "<html>", " {}",
    '{"nbr":true}', '{"nbr":{"a":1}}', '{"nbr":1E1}', '{"nbr":-1,"cur":""}', '{"cur":"true"}', "\ufeff{}", "\n", "null",
    '{"a":"line\nend"}', "[]", "7", '"x"', '{"a":nan}', '{"a":{"b":[' + "[" * 220 + "]" * 220 + "]}}",
]  # fmt: skip
EVENTS = [event for relation in NATIVE.relations for event in relation.events]
WHOLE: dict[str, Any] = {
    "ts": "2026-09-14T11:00:00.000Z", "auction_id": "A", "partner": "p", "key_id": "k", "http_status": 200,
    "state_to": "open",
}  # fmt: skip
DAMAGE = ["", ",", " ", "x", "\r", "}", "\x0c", "\x00", '{"event":"win"}', "// c", "\ufeff", "\ud83d"]


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line that is more or less an event."""
    event = draw(st.sampled_from(EVENTS))
    keys = [field.key for field in NATIVE.by_event[event].fields]
    pairs = [("event", json.dumps(event)), *((key, json.dumps(value)) for key, value in WHOLE.items() if key in keys)]
    for key in draw(st.lists(st.sampled_from([*keys, *keys, "Ts", "other"]), max_size=4)):
        if key == "body":
            body = draw(st.sampled_from(BODIES))
            text = draw(st.sampled_from([body, json.dumps(body), json.dumps(body, ensure_ascii=False)]))
        else:
            text = draw(st.sampled_from(LITERALS))
        pairs = [pair for pair in pairs if pair[0] != key or draw(st.integers(0, 9)) == 0] + [(key, text)]
    if draw(st.integers(0, 5)) == 0:
        pairs = draw(st.permutations(pairs))
    colon, comma = draw(st.sampled_from([(":", ","), (": ", ", ")]))
    line = "{" + comma.join(f'"{key}"{colon}{text}' for key, text in pairs) + "}"
    if draw(st.integers(0, 11)) == 0:
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.sampled_from(DAMAGE)) + line[at + draw(st.integers(0, 2)) :]
    return line.encode("utf-8", "surrogatepass").replace(b"\n", b" ")


Loaders = list[tuple[RowLoader, duckdb.DuckDBPyConnection]]
Loaded = tuple[Counts, dict[str, list[Any]]]
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def loaders() -> Loaders:
    """The same loader twice: the engine first, and the definition alone."""
    cons = [(engine_from, duckdb.connect()) for engine_from in (ALWAYS, NEVER)]
    return [(RowLoader(con, engine_from=engine_from), con) for engine_from, con in cons]


def same(loaders: Loaders, load: Callable[[RowLoader], Counts]) -> Loaded:
    """What `load` stages as file 3, by table, in the order of the lines; the two loaders must agree."""
    results = []
    for loader, con in loaders:
        counts = load(loader)
        rows = {name: con.execute(f"select * from stage_{name} order by line_no").fetchall() for name in COLUMNS}
        rows["rejects"] = con.execute("select * from stage_rejects order by line").fetchall()
        loader.forget(3)
        results.append((counts, rows))
    (counts, rows), (expected_counts, expected_rows) = results
    assert counts == expected_counts
    assert rows == expected_rows
    assert counts.lines == counts.facts + counts.rejects + counts.blank
    return results[0]


@settings(SETTINGS, max_examples=40)
@given(st.lists(lines(), min_size=1, max_size=60), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_lines(loaders: Loaders, some: list[bytes], end: bytes, ended: bool) -> None:
    data = end.join(some) + (end if ended else b"")
    state = State("json")
    same(loaders, lambda loader: loader.load_lines(NATIVE, data, file_no=3, first_line=5, offset=100, state=state))


@pytest.mark.parametrize("first", ["1789383600.5", "1789383600"])
def test_epochs_with_fractions(loaders: Loaders, first: str) -> None:
    stamps = [
        first,
        "1789383600.123",
        "1789383600.9999999",
        "1789383600.12345599999",
        '"1789383600.123456789"',
        "1.5e9",
        "1789383600999999.9e-6",
    ]
    texts = (f'{{"event":"attempt","ts": {stamp},"auction_id":"A","partner":"p"}}' for stamp in stamps)
    data = "\n".join(texts).encode()
    state = State("json")
    load = same(loaders, lambda loader: loader.load_lines(NATIVE, data, file_no=3, first_line=1, offset=0, state=state))
    micros = [row[0].microsecond for row in load[1]["attempts"]]
    assert micros[1:] == [123_000, 999_999, 123_455, 123_456, 0, 999_999]


COMMON = [
    {"ts": "2026-09-14T11:00:00.123Z", "latency_ms": 12.5, "http_status": 204, "price": 1.25, "bids": 1, "nbr": 2},
    {"ts": "2026-09-14 14:00:00.123456789+03:00", "latency_ms": "12.5", "http_status": "204", "price": "1.25"},
    {"ts": "2026-09-14t11:00:00z", "http_status": 0, "error_type": "dial tcp 192.0.2.9:443: connection refused"},
    {"ts": 1789383600, "auction_id": 18446744073709551617, "retry_after": "23", "not_sent": "limit", "breaker": "open"},
    {"ts": 1789383600123, "latency_ms": "", "error_type": None, "request_id": "1f-2e", "node": "10.0.0.1:8080"},
    {"ts": "1789383600123456", "http_status": 200, "body": "", "price": 0.30000000000000004},
    {"ts": 1789383600123456789, "http_status": 200, "body": {}},
    {"ts": 1789383600.123, "http_status": 200, "body": {"seatbid": [], "nbr": 2}},
    {"http_status": 200, "body": {"seatbid": [{"bid": [{"price": 1.5}, {"price": "2"}]}, {"seat": "s"}], "cur": "EUR"}},
    {"http_status": 200, "body": json.dumps({"seatbid": [{"bid": [{"price": 1.5, "adm": "<a>\n"}]}]}, indent=1)},
    {"http_status": 200, "body": "<html>"},
    {"event": "win", "price": 1.25, "currency": "USD", "imp_id": "1"},
    {"event": "loss", "loss_reason": 102},
    {"event": "auction", "imps": 2, "winner": "p"},
    {"event": "breaker", "state_from": "closed"},
    {"event": "postback", "accepted": True, "duplicate": "false", "amount": 3, "x_timestamp": 1789383300, "limit": 600},
]


@pytest.mark.parametrize("values", COMMON, ids=str)
def test_common_lines_stay_with_the_engine(
    loaders: Loaders, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any]
) -> None:
    monkeypatch.setattr(Reader, "read", None)
    loader, _ = loaders[0]
    data = json.dumps({"event": "attempt", **WHOLE, **values}).encode()
    counts = loader.load_lines(NATIVE, data, file_no=3, first_line=1, offset=0, state=State("json"))
    loader.forget(3)
    assert counts == Counts(lines=1, facts=1)


CELLS = [json.loads(text) for text in LITERALS if text.startswith('"') and "ud800" not in text]
CELLS += [text for text in LITERALS if not text.startswith('"')]
KEYS = list(dict.fromkeys(field.key for relation in NATIVE.relations for field in relation.fields))


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, str]]:
    """Rows of texts by column, more or less events."""
    some = []
    for event in draw(st.lists(st.sampled_from([*EVENTS, "other", ""]), min_size=1, max_size=20)):
        whole = {"event": event, **{key: str(value) for key, value in WHOLE.items()}}
        cells = st.sampled_from(CELLS + BODIES)
        some.append(whole | draw(st.dictionaries(st.sampled_from(KEYS), cells, max_size=4)))
    return some


@settings(SETTINGS, max_examples=20)
@given(rows(), st.integers(0, 9), st.sampled_from(["", "\r\n", "x\r\n", 'a,"b\r\n']))
def test_csv_rows(loaders: Loaders, some: list[dict[str, str]], shorten: int, trailer: str) -> None:
    header = list(dict.fromkeys(key for row in some for key in row))
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    for number, row in enumerate(some):
        cells = [row.get(key, "") for key in header]
        writer.writerow(cells[:-1] if number == shorten else cells)
    data = (file.getvalue() + trailer).encode()
    state = State("csv", tuple(header), 50)
    same(loaders, lambda loader: loader.load_lines(NATIVE, data, file_no=3, first_line=1, offset=50, state=state))


@settings(SETTINGS, max_examples=20)
@given(rows(), st.data())
def test_parquet_rows(loaders: Loaders, tmp_path: Path, some: list[dict[str, str]], data: st.DataObject) -> None:
    columns = {}
    for key in dict.fromkeys(key for row in some for key in row):
        texts = [row.get(key) for row in some]
        others = {
            "text": texts,
            "number": [None if text is None else len(text) for text in texts],
            "fraction": [None if text is None else len(text) / 4 for text in texts],
            "flag": [None if text is None else len(text) > 3 for text in texts],
            "nested": [None if text is None else {"a": text} for text in texts],
            "time": [None if text is None else datetime(2026, 9, 14, 11, 0, 0, len(text)) for text in texts],
        }
        kind = data.draw(st.sampled_from(["text", "text", "text", *others])) if key != "event" else "text"
        columns[key] = others[kind]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    same(loaders, lambda loader: loader.load_parquet(NATIVE, path, file_no=3))


@pytest.mark.parametrize(
    "zone",
    ["UTC", "Europe/Kyiv", "America/New_York", "America/Sao_Paulo", "Asia/Shanghai", "Asia/Kathmandu",
     "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"],
)  # fmt: skip
def test_the_engine_places_local_times_as_the_definition_does(zone: str) -> None:
    """Each hour of three years, and of days around them up to the end of the century."""
    con = duckdb.connect()
    loader = RowLoader(con, zone=zone, engine_from=ALWAYS)
    starts = [datetime(2025, 1, 1) + timedelta(hours=n, microseconds=n) for n in range(3 * 8_766)]
    starts += [datetime(2000, 1, 2) + timedelta(hours=37 * n) for n in range(23_000)]
    lines = [f'{{"event":"attempt","ts":"{start}","auction_id":"a","partner":"p"}}\n' for start in starts]
    loader.load_lines(NATIVE, "".join(lines).encode(), file_no=1, first_line=1, offset=0, state=State("json"))
    rows = con.execute("select epoch_us(ts) from stage_attempts order by line_no").fetchall()
    assert [us for (us,) in rows] == [parse_time(str(start), ZoneInfo(zone)) for start in starts]
