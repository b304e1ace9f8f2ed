"""What one line becomes: the canonical row, its outcome, what is mended, or why it is a reject."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.formats.registry import guess, load_format
from ingest.formats.spec import State
from ingest.rows.error_types import error_types
from ingest.rows.loader import Counts, RowLoader
from ingest.rows.parquet import parquet_columns
from ingest.rows.record import Reject, read_object

NATIVE = load_format("native")
ATTEMPT = {"event": "attempt", "ts": "2026-09-14T11:00:00Z", "auction_id": "A", "partner": "p"}
POSTBACK = {"event": "postback", "ts": "2026-09-14T11:00:00Z", "key_id": "k", "http_status": 200}
NOON = datetime(2026, 9, 14, 11)


class Log:
    """Loads lines and shows what was staged."""

    def __init__(self, **options: Any) -> None:
        self.con = duckdb.connect()
        self.loader = RowLoader(self.con, **options)
        self.state = State("json")

    def load(self, data: bytes) -> Counts:
        return self.loader.load_lines(NATIVE, data, file_no=1, first_line=1, offset=0, state=self.state)

    def table(self, name: str) -> list[dict[str, Any]]:
        order = "line" if name == "stage_rejects" else "line_no"
        result = self.con.execute(f"select * from {name} order by {order}")
        names = [item[0] for item in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def attempt(self, **values: Any) -> dict[str, Any]:
        """The row of an attempt with these values; a JSON text stands for itself where it is bytes."""
        self.load(line(ATTEMPT, **values))
        return self.table("stage_attempts")[-1]


def line(whole: dict[str, Any], **values: Any) -> bytes:
    pairs = {**whole, **values}
    texts = (f'"{key}":{text.decode() if isinstance(text, bytes) else json.dumps(text)}' for key, text in pairs.items())
    return ("{" + ",".join(texts) + "}\n").encode()


@pytest.fixture(scope="module")
def one_log() -> Log:
    return Log()


@pytest.fixture
def log(one_log: Log) -> Iterator[Log]:
    one_log.state = State("json")
    yield one_log
    one_log.loader.forget(1)


@pytest.mark.parametrize(
    "key, text, value",
    [
        ("latency_ms", b"120", 120.0),
        ("latency_ms", b'"0.120"', 0.12),
        ("latency_ms", b"933.3333333333334", 933.3333333333334),
        ("latency_ms", b"0", 0.0),
        ("latency_ms", b'""', None),
        ("latency_ms", b"null", None),
        ("http_status", b'"503"', 503),
        ("http_status", b"503.0", 503),
        ("http_status", b"5.03e2", 503),
        ("http_status", b"0", None),
        ("attempt", b"-1", -1),
        ("attempt", b"9223372036854775807", 2**63 - 1),
        ("price", b"1.25", Decimal("1.25")),
        ("price", b'"0.0000005"', Decimal("0.000001")),
        ("price", b"1e-3", Decimal("0.001")),
        ("price", b"123456789012.123456", Decimal("123456789012.123456")),
        ("source", b'" a b "', " a b "),
        ("source", b"7", "7"),
        ("source", b"1E5", "1E5"),
        ("source", b"-0", "-0"),
        ("source", b"-0.0", "-0.0"),
        ("source", b'"\\u001b[2J"', "\x1b[2J"),
        ("breaker", b'"HALF-OPEN"', "half_open"),
        ("breaker", b'"Half Open"', "half_open"),
        ("breaker", b'"tripped"', None),
        ("breaker", b"true", None),
        ("not_sent", b"true", "true"),
        ("not_sent", b'"Limit"', "limit"),
        ("not_sent", b"false", None),
        ("not_sent", b'"False"', None),
        ("error_type", b'"flux capacitor underrun"', "flux capacitor underrun"),
        ("error_type", b"true", "true"),
        ("error_type", b'{"op":"dial","n":1.0}', '{"op":"dial","n":1.0}'),
        ("error_type", b'"Post \\"https://d.example/b?ifa=X\\": EOF"', 'Post "https://d.example/b?***": EOF'),
        ("retry_after", b'"23"', 23.0),
        ("retry_after", b'"Mon, 14 Sep 2026 11:00:30 GMT"', 30.0),
        ("retry_after", b'"Mon, 14 Sep 2026 10:59:00 GMT"', 0.0),
        ("retry_after", b'"Monday, 14-Sep-26 11:00:30 GMT"', 30.0),
        ("retry_after", b'"Mon Sep 14 11:00:30 2026"', 30.0),
        ("retry_after", b'"Tue Sep  1 11:00:30 2026"', 0.0),
        ("retry_after", b"23", 23.0),
        ("retry_after", b"23.0", 23.0),
    ],
)
def test_value_is_kept(log: Log, key: str, text: bytes, value: Any) -> None:
    counts = log.load(line(ATTEMPT, **{key: text}))
    column = "retry_after_s" if key == "retry_after" else key
    assert log.table("stage_attempts")[0][column] == value
    assert counts == Counts(lines=1, facts=1)


@pytest.mark.parametrize(
    "key, text",
    [
        ("latency_ms", b"-3"),
        ("latency_ms", b"NaN"),
        ("latency_ms", b"-Infinity"),
        ("latency_ms", b"inf"),
        ("latency_ms", b"1e400"),
        ("latency_ms", b'"nan"'),
        ("latency_ms", b'"1_000"'),
        ("latency_ms", b'"12 ms"'),
        ("latency_ms", b"true"),
        ("latency_ms", b"[1]"),
        ("attempt", b"1.7"),
        ("attempt", b'"0x10"'),
        ("attempt", b"9223372036854775808"),
        ("price", b'"${AUCTION_PRICE}"'),
        ("price", b"1e12"),
        ("source", b"true"),
        ("source", b'{"a":1}'),
        ("source", b'"\\ud800"'),
        ("retry_after", b'"-3"'),
        ("retry_after", b'"1.5"'),
        ("retry_after", b'"soon"'),
        ("retry_after", b'"1e2"'),
        ("retry_after", b'"+23"'),
        ("retry_after", b'"99999999999999999999"'),
        ("retry_after", b'"2026-09-14T11:00:30Z"'),
        ("retry_after", b'"14 Sep 2026 11:00:30 GMT"'),
        ("retry_after", b'"Mon, 14 Sep 2026 11:00:30 +0000"'),
        ("retry_after", b'"Mon, 14 Sep 2026 11:00:30"'),
    ],
)
def test_value_is_mended(log: Log, key: str, text: bytes) -> None:
    counts = log.load(line(ATTEMPT, **{key: text}))
    column = "retry_after_s" if key == "retry_after" else key
    assert log.table("stage_attempts")[0][column] is None
    assert counts.facts == 1
    assert counts.mended == {key: 1}


@pytest.mark.parametrize(
    "ts, micros",
    [
        (b'"2026-09-14T11:00:00Z"', 0),
        (b'"2026-09-14t11:00:00.5z"', 500_000),
        (b'"2026-09-14T14:00:00+0300"', 0),
        (b'"2026-09-14T14:00:00+03"', 0),
        (b'"2026-09-14 11:00:00.123+00:00"', 123_000),
        (b'"2026-09-14T11:00:00.123456789Z"', 123_456),
        (b'"2026-09-14T11:00:00.999999999999Z"', 999_999),
        (b'"2026-09-14T07:30:00.999-03:30"', 999_000),
        (b"1789383600", 0),
        (b'"1789383600"', 0),
        (b"1789383600.123456", 123_456),
        (b"1789383600.9999999", 999_999),
        (b"1789383600.99999999999999999999999999999999", 999_999),
        (b"1789383600123", 123_000),
        (b"1789383600123.4567", 123_456),
        (b"1789383600123456", 123_456),
        (b"1789383600123456789", 123_456),
        (b"1.7893836e9", 0),
    ],
)
def test_time_is_placed(log: Log, ts: bytes, micros: int) -> None:
    assert log.attempt(ts=ts)["ts"] == NOON + timedelta(microseconds=micros)


@pytest.mark.parametrize(
    "local, utc",
    [
        ("2026-09-14T14:00:00", "2026-09-14T11:00:00"),
        ("2026-10-25T03:30:00", "2026-10-25T00:30:00"),  # happens twice: the first
        ("2026-03-29T03:30:00", "2026-03-29T01:30:00"),  # skipped: counted on from the change at 03:00
        ("2026-09-14T11:00:00Z", "2026-09-14T11:00:00"),
    ],
)
def test_local_time_is_placed_in_the_zone(local: str, utc: str) -> None:
    assert Log(zone="Europe/Kyiv").attempt(ts=local)["ts"] == datetime.fromisoformat(utc)


@pytest.mark.parametrize(
    "raw, reason",
    [
        (line(ATTEMPT, ts="2026-09-14T11:00:00"), "ts has no offset"),
        (line(ATTEMPT, ts="2016-12-31T23:59:60Z"), "ts is a leap second"),
        (line(ATTEMPT, ts="2026-02-30T11:00:00Z"), "ts is an impossible date"),
        (line(ATTEMPT, ts="2026-09-14T24:00:00Z"), "ts is an impossible date"),
        (line(ATTEMPT, ts="2026-09-14T11:00:00+99:00"), "ts has an impossible offset"),
        (line(ATTEMPT, ts="2026-09-14"), "ts is no RFC 3339 time"),
        (line(ATTEMPT, ts=" "), "ts is no RFC 3339 time"),
        (line(ATTEMPT, ts=0), "ts is outside the years 2000 to 2100"),
        (line(ATTEMPT, ts=b"1e30"), "ts is outside the years 2000 to 2100"),
        (line(ATTEMPT, ts="1999-12-31T23:59:59.999999Z"), "ts is outside"),
        (line(ATTEMPT, ts="2101-01-01T00:00:00Z"), "ts is outside"),
        (line(ATTEMPT, ts=True), "ts is no text"),
        (line(ATTEMPT, ts=None), "ts is missing"),
        (line(ATTEMPT, auction_id=""), "auction_id is missing"),
        (line(ATTEMPT, auction_id={"id": 1}), "auction_id is no text"),
        (line(ATTEMPT, auction_id=True), "auction_id is no text"),
        (line(ATTEMPT, partner=b'"\\udc00"'), "partner holds bytes that are no UTF-8"),
        (line(ATTEMPT, event="attempts"), "event is none of"),
        (line(ATTEMPT, event=7), "event is none of"),
        (line(ATTEMPT, event=None), "event is missing"),
        (line(POSTBACK, http_status=0), "http_status is missing"),
        (line(POSTBACK, http_status="abc"), "http_status is no number"),
        (line({**ATTEMPT, "event": "breaker"}, state_to="tripped"), "state_to is none of closed, open, half_open"),
        (b"[1,2]\n", "JSON, but no object"),
        (b"42\n", "JSON, but no object"),
        (b"null\n", "JSON, but no object"),
        (b'{"event":"attempt",}\n', "no JSON"),
        (b'{"a":[1,\t]}\n', "no JSON"),
        (b'{"a":0204}\n', "no JSON"),
        (b"{}TRAILER\n", "no JSON"),
        (b"{'event':'attempt'}\n", "no JSON"),
        (b"\x00\x00\n", "no JSON"),
        (b"\x0c\n", "no JSON"),
        (b"\x0b" + line(ATTEMPT), "no JSON"),
        (line(ATTEMPT).strip() + b"\x0c\n", "no JSON"),
        (b"[" * 100_000 + b"\n", "no JSON: nested more than 200 levels deep"),
    ],
)
def test_line_is_rejected(log: Log, raw: bytes, reason: str) -> None:
    counts = log.load(raw)
    assert counts == Counts(lines=1, rejects=1)
    assert log.table("stage_rejects")[0]["reason"].startswith(reason)


def test_every_line_ends_in_one_place(log: Log) -> None:
    good = line(ATTEMPT).strip()
    parts = [b"\xef\xbb\xbf" + good + b"\r", b"", b" \t", b"\xef\xbb\xbf", good + b"\r" + good, b"\r", good]
    counts = log.load(b"\n".join(parts))
    assert counts == Counts(lines=7, facts=2, rejects=1, blank=4)
    assert [row["line_no"] for row in log.table("stage_attempts")] == [1, 7]
    assert [(row["line"], row["offset"]) for row in log.table("stage_rejects")] == [(5, len(b"\n".join(parts[:4])) + 1)]


def test_keys_match_as_json_does(log: Log) -> None:
    row = log.attempt(HTTP_STATUS=500, source="a", **{"sour\\u0063e": "b"})
    assert (row["http_status"], row["source"]) == (None, "a")


@pytest.mark.parametrize("blank", [b"", b" ", b"\t", b" \r", b"   "])
def test_engine_keeps_the_sign_of_an_id_that_is_zero(blank: bytes) -> None:
    log = Log(engine_from=0)
    log.load(line(ATTEMPT, auction_id=0) + line(ATTEMPT, auction_id=blank + b"-0", attempt=-0) + line(ATTEMPT))
    assert [row["auction_id"] for row in log.table("stage_attempts")] == ["0", "-0", "A"]


def test_undecodable_bytes_cost_only_what_they_are_in(log: Log) -> None:
    counts = log.load(line(ATTEMPT, ua="?", source="?").replace(b"?", b"\xff"))
    assert counts == Counts(lines=1, facts=1, mended=counts.mended)
    assert counts.mended == {"source": 1}


BIDS = {"seatbid": [{"bid": [{"price": -1}, {"price": "2.5"}, {}]}, {"bid": [{"price": 1}]}], "nbr": 5}


@pytest.mark.parametrize(
    "body, outcome, reason, price",
    [
        (BIDS, "bid", None, "2.5"),
        (json.dumps(BIDS), "bid", None, "2.5"),
        ({"seatbid": [{"bid": [{"price": 0, "dealid": "d"}]}]}, "bid", None, "0"),
        ({"seatbid": [{"bid": [{"price": 1e-9}]}]}, "bid", None, "0"),
        ({"seatbid": [{"bid": [{"price": 0}]}], "nbr": 3}, "invalid_response", None, None),
        ({"seatbid": [{"bid": [{"price": True}, {"price": "x"}, 7]}]}, "invalid_response", None, None),
        (b'{"seatbid":[{"bid":[{"price":NaN}]}]}', "invalid_response", None, None),
        ({"seatbid": {}}, "invalid_response", None, None),
        ([], "invalid_response", None, None),
        (True, "invalid_response", None, None),
        ('{"seatbid":[{"bid":[{"pri', "invalid_response", None, None),
        ('{"seatbid":[],}', "invalid_response", None, None),
        ("<html>", "invalid_response", None, None),
        ("", "no_bid", "no_reason", None),
        ({}, "no_bid", "no_reason", None),
        ({"seatbid": None}, "no_bid", "no_reason", None),
        ({"seatbid": [], "nbr": "2.0"}, "no_bid", "2", None),
        (b'{"seatbid":[],"nbr":9,"nbr":8}', "no_bid", "9", None),
        ({"seatbid": [5, {"seat": "s"}, {"bid": None}, {"bid": []}]}, "no_bid", "no_reason", None),
        ({"ext": {"nbr": 3}}, "no_bid", "no_reason", None),
    ],
)
def test_body_decides_alone(log: Log, body: Any, outcome: str, reason: str | None, price: str | None) -> None:
    row = log.attempt(http_status=200, body=body, nbr=8, bids=3, price=9, currency="EUR")
    assert (row["outcome"], row["reason"]) == (outcome, reason)
    assert row["price"] == (None if price is None else Decimal(price))


@pytest.mark.parametrize(
    "cur, column, currency", [("EUR", "GBP", "EUR"), (None, "GBP", "GBP"), (None, None, "USD"), (["EUR"], None, "USD")]
)
def test_currency_of_a_bid(log: Log, cur: Any, column: str | None, currency: str) -> None:
    body = {"seatbid": [{"bid": [{"price": 1}]}], "cur": cur}
    assert log.attempt(http_status=200, body=body, currency=column)["currency"] == currency


@pytest.mark.parametrize(
    "nbr, reason, code",
    [
        (b"2", "2", 2),
        (b'"2"', "2", 2),
        (b"2.0", "2", 2),
        (b"0", "0", 0),
        (b'"007"', "7", 7),
        (b"123456789012345678901", "123456789012345678901", None),
        (b"-1", "invalid", None),
        (b"2.5", "invalid", None),
        (b'"abc"', "invalid", None),
        (b'"3.0"', "3", 3),
        (b'"3."', "invalid", None),
        (b'"3.00"', "invalid", None),
        (b"true", "invalid", None),
        (b"NaN", "invalid", None),
        (b"{}", "invalid", None),
        (b"null", "no_reason", None),
        (b'""', "no_reason", None),
    ],
)
def test_no_bid_code(log: Log, nbr: bytes, reason: str, code: int | None) -> None:
    row = log.attempt(http_status=204, nbr=nbr)
    assert (row["outcome"], row["reason"], row["nbr"]) == ("no_bid", reason, code)


@pytest.mark.parametrize(
    "values, outcome",
    [
        ({"not_sent": "breaker", "http_status": 503}, "not_sent_breaker"),
        ({"breaker": "open"}, "not_sent_breaker"),
        ({"breaker": "open", "http_status": 0}, "not_sent_breaker"),
        ({"breaker": "open", "latency_ms": 12}, "unknown_error"),
        ({"breaker": "open", "error_type": "odd"}, "unknown_error"),
        ({"not_sent": True, "breaker": "open"}, "not_sent_limit"),
        ({"not_sent": "no_time"}, "not_sent_limit"),
        ({"error_type": "dns", "http_status": 200}, "connect_error"),
        ({"error_type": "tls", "latency_ms": 200, "timeout_ms": 100}, "tls_error"),
        ({"error_type": "timeout", "http_status": 204}, "timeout"),
        ({"latency_ms": 100, "timeout_ms": 100}, "timeout"),
        ({"latency_ms": 100, "timeout_ms": 100, "error_type": "reset"}, "timeout"),
        ({"latency_ms": 99, "timeout_ms": 100, "error_type": "reset"}, "reset"),
        ({"error_type": "cancelled"}, "cancelled"),
        ({"error_type": "invalid_response"}, "invalid_response"),
        ({"error_type": "invalid_response", "http_status": 200}, "invalid_response"),
        ({"error_type": "invalid_response", "http_status": 204}, "no_bid"),
        ({"error_type": "invalid_response", "http_status": 200, "body": {}}, "no_bid"),
        ({"error_type": "odd", "http_status": 200, "bids": 1}, "bid"),
        ({"http_status": 429}, "rate_limited"),
        ({"http_status": 599}, "server_error"),
        ({"http_status": 499}, "client_error"),
        ({"http_status": 206, "body": BIDS}, "unexpected_status"),
        ({"http_status": 600}, "unexpected_status"),
        ({}, "unknown_error"),
        ({"http_status": 204, "body": BIDS}, "no_bid"),
        ({"http_status": 200, "bids": 2}, "bid"),
        ({"http_status": 200, "price": 0}, "bid"),
        ({"http_status": 200, "price": 1, "nbr": 2}, "bid"),
        ({"http_status": 200, "bids": 0, "price": 1}, "no_bid"),
        ({"http_status": 200, "nbr": "abc"}, "no_bid"),
        ({"http_status": 200, "nbr": ""}, "answered_unknown"),
        ({"http_status": 200, "price": -1}, "answered_unknown"),
    ],
)
def test_outcome(log: Log, values: dict[str, Any], outcome: str) -> None:
    assert log.attempt(**values)["outcome"] == outcome


@pytest.mark.parametrize("row", error_types(), ids=lambda row: row["example"])
def test_error_table_names_its_examples(log: Log, row: dict[str, str]) -> None:
    assert log.con.execute("select error_class(?)", [row["example"]]).fetchone() == (row["class"],)


@pytest.mark.parametrize(
    "values, outcome",
    [
        ({"http_status": 429, "error_code": "POSTBACK_REPLAY"}, "rate_limited"),
        ({"http_status": 400, "error_code": "POSTBACK_STALE_TIMESTAMP"}, "stale_timestamp"),
        ({"http_status": 409, "error_code": "POSTBACK_REPLAY"}, "replay"),
        ({"http_status": 201}, "accepted"),
        ({"accepted": "false"}, "unexpected_status"),
        ({"http_status": 500, "accepted": True}, "server_error"),
        ({"http_status": 404}, "client_error"),
        ({"http_status": 302}, "unexpected_status"),
    ],
)
def test_postback_outcome(log: Log, values: dict[str, Any], outcome: str) -> None:
    log.load(line(POSTBACK, **values))
    assert log.table("stage_postbacks")[0]["outcome"] == outcome


def test_addresses_and_queries_are_not_stored(log: Log) -> None:
    counts = log.load(line(POSTBACK, client_hash="192.0.2.7", endpoint="/postback?email=a@b.example"))
    row = log.table("stage_postbacks")[0]
    assert (row["client_hash"], row["endpoint"]) == (None, "/postback")
    assert counts.mended == {"client_hash": 1}


@pytest.mark.parametrize(
    "text, kept",
    [
        ("dial tcp 192.0.2.9:443: i/o timeout", "dial tcp [ip]:443: i/o timeout"),
        ("read tcp 192.0.2.1:5->192.0.2.9:443: EOF", "read tcp [ip]:5->[ip]:443: EOF"),
        ("dial tcp [2001:db8::7]:443: EOF", "dial tcp [ip]:443: EOF"),
        ("dial tcp [fe80::1%eth0]:443: EOF", "dial tcp [ip]:443: EOF"),
        ("no route to ::ffff:192.0.2.9", "no route to [ip]"),
        ("no route to 2001:DB8:0:1:2:3:4:5", "no route to [ip]"),
        ("2001:db8::: bad, ::1 fe80::2", "[ip]: bad, [ip] [ip]"),
        ("11:00:00 hyper::Error std::bad_alloc v1.2.3", "11:00:00 hyper::Error std::bad_alloc v1.2.3"),
    ],
)
@pytest.mark.parametrize("engine_from", [0, 100])
def test_error_text_keeps_all_but_addresses(engine_from: int, text: str, kept: str) -> None:
    assert Log(engine_from=engine_from).attempt(error_type=text)["error_type"] == kept


@pytest.mark.parametrize(
    "text, error_class",
    [
        ("context deadline exceeded (Client.Timeout exceeded while awaiting headers)", "timeout"),
        (
            "Cannot connect to host x:443 ssl:True [SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED]]",
            "tls_error",
        ),
        ("curl: (28) SSL connection timeout", "tls_error"),
        ("curl: (28) Resolving timed out after 5000 milliseconds", "connect_error"),
        ("curl: (28) Connection timed out after 100 milliseconds", "connect_error"),
        ("curl: (28) Operation timed out after 120 milliseconds", "timeout"),
        ("upstream timed out (110: Connection timed out) while reading response header from upstream", "timeout"),
        ("upstream_reset_before_response_started{connection_timeout}", "connect_error"),
        ("upstream_reset_before_response_started{connection_failure}", "connect_error"),
        ("upstream_reset_before_response_started{connection_termination}", "reset"),
        ("upstream_reset_before_response_started{remote_reset}", "reset"),
        ("upstream_reset_before_response_started{overflow}", None),
        ("http: server closed idle connection", "reset"),
        ("java.nio.channels.ClosedChannelException", "reset"),
        ("curl: (18) transfer closed with 10 bytes remaining to read", "reset"),
        ("curl: (92) HTTP/2 stream 0 was not closed cleanly", "reset"),
        ("connection_reset", "reset"),
        ("dns_error", "connect_error"),
        ("refused", "connect_error"),
        ("conn_refused", "connect_error"),
        ("no_healthy_upstream", "connect_error"),
        ("the target machine actively refused it", "connect_error"),
        ("CERT_HAS_EXPIRED", "tls_error"),
        ("DEPTH_ZERO_SELF_SIGNED_CERT", "tls_error"),
        ("write EPROTO", "tls_error"),
        ("deadline has elapsed", "timeout"),
        ("The request was canceled due to the configured HttpClient.Timeout of 0.12 seconds elapsing.", "timeout"),
        ("context_canceled", "cancelled"),
        ("downstream_remote_disconnect", "cancelled"),
        ("System.OperationCanceledException", "cancelled"),
        ("System.Threading.Tasks.TaskCanceledException: A task was canceled.", "cancelled"),
        ("some dnsomething", None),
    ],
)
def test_error_class(log: Log, text: str, error_class: str | None) -> None:
    assert log.con.execute("select error_class(?)", [text]).fetchone() == (error_class,)


def test_reject_keeps_no_personal_data(log: Log) -> None:
    secrets = {"ip": "192.0.2.7", "user": {"id": "SECRET"}, "body": {"id": "SECRET"}, "error_type": "SECRET" * 8}
    log.load(line(ATTEMPT, ts="bad", source="to 192.0.2.7, a@b.example, 2001:db8::7, /p?id=SECRET", **secrets))
    log.load(line(ATTEMPT, **{"ip": "192.0.2.7", "user": {"source": "SECRET"}, "source": "a@b.example"})[:-2] + b"\n")
    parsed, cut = (row["raw"] for row in log.table("stage_rejects"))
    assert json.loads(parsed)["auction_id"] == "A"
    assert json.loads(parsed)["ip"] == "***"
    assert '"auction_id":"A"' in cut
    for secret in ("192.0.2.7", "SECRET", "a@b.example", "2001:db8"):
        assert secret not in parsed + cut


def test_raw_text_is_capped(log: Log) -> None:
    log.load(line(ATTEMPT, ts="bad", source="\u00e9" * 10_000) + b'{"source":"' + b"x" * 9_000_000 + b"\n")
    assert [len(row["raw"].encode()) <= 4096 for row in log.table("stage_rejects")] == [True, True]


@pytest.mark.parametrize("engine_from", [0, 100])
def test_hashes_are_those_of_the_lines_of_facts(engine_from: int) -> None:
    log = Log(want_hashes=True, engine_from=engine_from)
    log.load(line(ATTEMPT) + b"bad\n" + line(ATTEMPT, source="x") + line(ATTEMPT).replace(b"\n", b"\r\n"))
    first, second, third = log.table("stage_hashes")
    assert [first["line_no"], second["line_no"], third["line_no"]] == [1, 3, 4]
    assert first["hash"] == third["hash"] != second["hash"]
    assert len(first["hash"]) == 16


def test_forgotten_file_leaves_nothing(log: Log) -> None:
    log.load(line(ATTEMPT) + b"bad\n")
    log.loader.forget(1)
    assert log.table("stage_attempts") == log.table("stage_rejects") == []


def test_csv(log: Log) -> None:
    head = b"\xef\xbb\xbfevent,ts,auction_id,partner,http_status,body\r\n"
    rows = [
        b'attempt,2026-09-14T11:00:00Z,007,"say ""hi""",204,',
        b"attempt,2026-09-14T11:00:00Z,true,a,200,",
        b"",
        b"attempt,2026-09-14T11:00:00Z,A3",
        b'attempt,2026-09-14T11:00:00Z,"A\r\n2",p,204,',
        b'attempt,2026-09-14T11:00:00Z,"x"y,p,204,',
    ]
    found = guess(head + rows[0])
    assert found is not None
    log.state = found[1]
    assert log.state == State("csv", ("event", "ts", "auction_id", "partner", "http_status", "body"), len(head))
    counts = log.load(b"\r\n".join(rows))
    assert counts == Counts(lines=6, facts=3, rejects=2, blank=1)
    staged = [
        (row["line_no"], row["auction_id"], row["partner"], row["outcome"]) for row in log.table("stage_attempts")
    ]
    assert staged == [
        (1, "007", 'say "hi"', "no_bid"),
        (2, "true", "a", "answered_unknown"),
        (5, "A\r\n2", "p", "no_bid"),
    ]
    assert [row["line"] for row in log.table("stage_rejects")] == [4, 7]


@pytest.mark.parametrize("engine_from", [0, 100])
def test_csv_reject_names_the_physical_line_where_its_record_begins(engine_from: int) -> None:
    log = Log(engine_from=engine_from)
    log.state = State("csv", ("event", "ts", "auction_id", "partner"), 0)
    good = b'attempt,2026-09-14T11:00:00Z,"a\nb\nc",p\n'
    data = good + b"attempt,bad,x,p\n" + good + b'attempt,"open\n' + good + b"short\n"
    counts = log.load(data)
    assert counts == Counts(lines=6, facts=3, rejects=3)
    staged = [(row["line"], row["offset"]) for row in log.table("stage_rejects")]
    assert staged == [
        (data[:at].count(b"\n") + 1, at) for at in map(data.index, (b"attempt,bad", b'attempt,"o', b"short"))
    ]


@pytest.mark.parametrize(
    "tail, whole",
    [(b'{"event":"attempt"}', True), (b'{"event":"att', False), (b'{"a":1}x', False), (b"12", False), (b"", False)],
)
def test_unfinished_last_line(log: Log, tail: bytes, whole: bool) -> None:
    assert log.loader.is_whole(tail, NATIVE) is whole


def test_same_json_object_whatever_the_white_space() -> None:
    assert read_object(b'\xef\xbb\xbf\t{ "a" : "b" } \r') == {"a": "b"}
    with pytest.raises(Reject):
        read_object(b'{"a":"b"}\xef\xbb\xbf')


def test_real_answers(log: Log, cases_dir: Path) -> None:
    folder = cases_dir / "adapter-answers"
    expected = [json.loads(text) for text in (folder / "expected.jsonl").read_text().splitlines()]
    log.load((folder / "input.jsonl").read_bytes())
    staged = [(row["auction_id"], row["outcome"], row["nbr"]) for row in log.table("stage_attempts")]
    assert staged == [(row["auction_id"], row["outcome"], row["nbr"]) for row in expected]


def parquet(log: Log, path: Path, columns: dict[str, Any]) -> Counts:
    """Loads one attempt with these columns, in this order."""
    pq.write_table(
        pa.table({key: value if isinstance(value, pa.Array) else [value] for key, value in columns.items()}), path
    )
    return log.loader.load_parquet(NATIVE, path, file_no=1)


@pytest.mark.parametrize("engine_from", [0, 100])
@pytest.mark.parametrize("zone", [None, "Europe/Kyiv"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_parquet_time_with_a_zone_is_cut(tmp_path: Path, unit: str, zone: str | None, engine_from: int) -> None:
    log = Log(zone=zone, engine_from=engine_from)
    number = 1789383600_123456789 // {"ms": 10**6, "us": 10**3, "ns": 1}[unit]
    times = pa.array([number], pa.timestamp(unit, "America/New_York"))
    assert parquet(log, tmp_path / "rows.parquet", {**ATTEMPT, "ts": times}).facts == 1
    micros = 123_000 if unit == "ms" else 123_456
    assert log.table("stage_attempts")[0]["ts"] == NOON + timedelta(microseconds=micros)


@pytest.mark.parametrize("engine_from", [0, 100])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_parquet_time_without_a_zone_needs_one(tmp_path: Path, unit: str, engine_from: int) -> None:
    path = tmp_path / "rows.parquet"
    times = pa.array([datetime(2026, 9, 14, 14)], pa.timestamp(unit))
    log = Log(engine_from=engine_from)
    assert parquet(log, path, {**ATTEMPT, "ts": times}) == Counts(lines=1, rejects=1)
    assert log.table("stage_rejects")[0]["reason"].startswith("ts has no offset")
    assert parquet(log, path, {**POSTBACK, "x_timestamp": times}).mended == {"x_timestamp": 1}
    log = Log(zone="Europe/Kyiv", engine_from=engine_from)
    parquet(log, path, {**ATTEMPT, "ts": times})
    assert log.table("stage_attempts")[0]["ts"] == NOON


@pytest.mark.parametrize("engine_from", [0, 100])
def test_parquet_columns_match_by_their_exact_names(tmp_path: Path, engine_from: int) -> None:
    log = Log(engine_from=engine_from)
    others = {"Event": "win", "TS": 7, "Partner": "q", "NBR": {"nbr": [{"ts": 9}]}}
    path = tmp_path / "rows.parquet"
    assert parquet(log, path, {**others, **ATTEMPT, "http_status": 204, "nbr": 5, "Nbr": 6}).facts == 1
    row = log.table("stage_attempts")[0]
    assert (row["ts"], row["partner"], row["nbr"]) == (NOON, "p", 5)
    assert parquet_columns(log.con, path) == [*others, *ATTEMPT, "http_status", "nbr", "Nbr"]
