"""Strategies of single events, as dictionaries whose `at` is in microseconds from the base of the log.

Two keys are written in other words: `skew` (microseconds) as an `x_timestamp` so much after the event, and
`retry_at` (seconds) as a `retry_after` that names a date so much after it.
"""

import json
import math
from typing import Any

from hypothesis import strategies as st

from .lines import DAY, OPTIONAL, Row
from .values import to_duration, to_flag, to_instant, to_integer, to_money, to_retry_after

Events = st.SearchStrategy[Row]
Values = st.SearchStrategy[Any]

PARTNERS = ["p", "q", "P"]
KEYS = ["k1", "k2", "k3"]
TENANTS = {"k1": "t1", "k2": "t1", "k3": None}
AUCTIONS = ["a1", "A1", "007", 7]
NEAR = [0, 0, 1, 10_000, 40_000, 100_000, 250_000, 1_000_000, 30_000_000]
EDGES = [
    edge + by for edge in (0, 60_000_000, 600_000_000, 3_600_000_000, DAY, 7 * DAY) for by in (-1, 0, 1)
] + [-60_000_000, -60_000_001, 7 * DAY + 60_000_000]  # fmt: skip


def offsets() -> st.SearchStrategy[int]:
    near = st.sampled_from(NEAR)
    return st.one_of(near, near, near, st.sampled_from(EDGES))


def one(*values: Any) -> Values:
    return st.sampled_from(values)


def number(*values: float) -> Values:
    """Numbers, bare or quoted; whole ones also with a fraction of zero."""
    return st.sampled_from(values).flatmap(lambda value: one(value, str(value), float(value)))


MILLIS = number(0, 10, 100, 120.5, 130, 140, 140.5, 160, 220, 260, 300)
WAITS = one("23", 5, 1, 0, 3600, "Mon, 14 Sep 2026 00:00:30 GMT", "-3", "1.5", "soon")
BIDS = one(
    {"price": 1.25}, {"price": "0.5"}, {"price": 0, "dealid": "d"}, {"price": 0}, {"price": 0, "dealid": ""},
    {"price": -1}, {"price": "much"}, {"price": None}, {"price": True}, {},
)  # fmt: skip
SEATS = st.lists(
    st.one_of(one({"seat": "s"}, {"bid": []}, {"bid": None}), st.lists(BIDS, max_size=3).map(lambda b: {"bid": b})),
    max_size=2,
)
CODES = one(0, 2, "2", 2.0, "9.0", 5, 17, 18, 499, 500, 11000, -1, "abc", True, None, "", "2.5")
RESPONSES = st.one_of(
    one({}, {"seatbid": None}, {"seatbid": {}}, {"seatbid": "none"}, {"ext": {"nbr": 3}}),
    st.builds(lambda seats: {"id": "r", "cur": "EUR", "seatbid": seats}, SEATS),
    st.builds(lambda seats, code: {"seatbid": seats, "nbr": code}, SEATS, CODES),
)
BODIES = st.one_of(
    RESPONSES,
    RESPONSES.map(json.dumps),
    RESPONSES.map(lambda body: json.dumps({"id": "r", **body})[:-1]),
    one("", "<html></html>", "null", "[]", [], 42, False),
)
ERRORS = one(
    "connection_refused", "dns", "connect_timeout", "unreachable", "tls", "handshake", "timeout", "deadline", "reset",
    "eof", "cancelled", "dial tcp: connect: connection refused", "lookup: no such host", "read: reset by peer",
    "ECONNRESET", "x509: unknown authority", "javax.net.ssl.SSLHandshakeException", "context deadline exceeded",
    "read timed out", "flux capacitor underrun",
)  # fmt: skip
OFFERS = st.one_of(
    one({"http_status": 200, "bids": 1}, {"http_status": 200, "price": 0.5}),
    st.builds(lambda price: {"http_status": 200, "body": {"seatbid": [{"bid": [{"price": price}]}]}}, one(1.25, "2")),
)
ANSWERS = st.one_of(
    OFFERS,
    st.just({"http_status": 200}),
    st.fixed_dictionaries({"http_status": one(200, "200", 200.0), "body": BODIES}, optional={"nbr": CODES}),
    st.fixed_dictionaries(
        {"http_status": st.just(200)},
        optional={
            "bids": one(0, 1, "2", 0.0, None, 1.5, "many"),
            "price": one(0, 1.25, "2.5", -1, None, "much"),
            "nbr": CODES,
        },
    ),
    st.fixed_dictionaries({"http_status": one(204, "204")}, optional={"body": BODIES, "nbr": CODES}),
    st.just({"http_status": 200, "error_type": "invalid_response"}),
)
FAILURES = st.one_of(
    st.builds(lambda status: {"http_status": status}, one(500, 502, 503, "503", 503.0, 429, 400, 404, 302, 206, 600)),
    st.builds(lambda status, error: {"http_status": status, "error_type": error}, one(None, 0), ERRORS),
    st.builds(lambda status, error: {"http_status": status, "error_type": error}, one(200, 204, 503), ERRORS),
    st.builds(lambda latency: {"latency_ms": latency, "timeout_ms": 120}, one(119, 120, "120.5")),
    st.just({}),
)
STOPPED = st.one_of(
    st.builds(lambda why: {"not_sent": why}, one("breaker", "limit", "no_time", "a text", True)),
    st.builds(lambda status: {"breaker": "open", "http_status": status, "not_sent": False}, one(None, 0, 200)),
    st.builds(lambda latency: {"breaker": "open", "latency_ms": latency}, one(None, 10, -3)),
)
SHAPES = st.one_of(ANSWERS, ANSWERS, FAILURES, FAILURES, STOPPED)
ATTEMPT = {
    "attempt": one(1, 2, 2, 3, "2", 0),
    "request_id": one("r1", "r2"),
    "tmax_ms": MILLIS,
    "budget_ms": number(200, 300),
    "timeout_ms": number(100, 120),
    "elapsed_ms": MILLIS,
    "latency_ms": MILLIS,
    "currency": one("USD", "EUR"),
    "reject_reason": one("below_floor", "blocked"),
    "breaker": one("closed", "open", "half_open"),
    "node": one("n1", "n2"),
    "region": one("eu"),
    "retry_after": WAITS,
    "backoff_ms": number(50),
    "user_agent": one("ignored"),
}


PLACES = one({}, {}, {}, {"source": "s1"}, {"source": "s1", "placement": "x"}, {"source": "s2", "placement": "x"})


def attempt(at: int, auction: Any, partner: str, columns: Row, shape: Row) -> Row:
    return {"event": "attempt", "at": at, "auction_id": auction, "partner": partner, **columns, **shape}


def attempts() -> Events:
    columns = st.builds(dict.__or__, st.fixed_dictionaries({}, optional=ATTEMPT), PLACES)
    return st.builds(attempt, offsets(), one(*AUCTIONS), one(*PARTNERS), columns, SHAPES)


def notices() -> Events:
    return st.fixed_dictionaries(
        {
            "event": one("win", "win", "billing", "loss", "impression", "click"),
            "at": offsets(),
            "auction_id": one(*AUCTIONS),
        },
        optional={
            "partner": one(*PARTNERS),
            "imp_id": one("1", 1, "2"),
            "price": one(1.25, "2.5", 0, "", None, "${AUCTION_PRICE}"),
            "currency": one("USD", "EUR", None),
            "loss_reason": one(102, "102", 1),
            "click_id": one("c1", "c2"),
        },
    )


def auctions() -> Events:
    return st.fixed_dictionaries(
        {"event": st.just("auction"), "at": offsets(), "auction_id": one(*AUCTIONS)},
        optional={
            "winner": one(*PARTNERS, None),
            "source": one("s1", "s2"),
            "placement": one("x", "y"),
            "tmax_ms": number(200, 300.5),
            "imps": number(1),
            "http_status": one(200, 204, 400),
            "price": one(1.5),
        },
    )


def breaker_events() -> Events:
    states = one("closed", "open", "half_open")
    return st.fixed_dictionaries(
        {"event": st.just("breaker"), "at": offsets(), "partner": one(*PARTNERS), "state_to": states},
        optional={"state_from": states, "node": one("n1", "n2"), "reason": one("errors")},
    )


REPLIES = st.one_of(
    st.builds(lambda status: {"http_status": status}, one(200, 201, "200", 200.0, 429, "429", 500, 503, 400, 302)),
    st.builds(
        lambda status, code: {"http_status": status, "error_code": code},
        one(200, 400, 409, 429, 500),
        one("POSTBACK_STALE_TIMESTAMP", "POSTBACK_REPLAY", "POSTBACK_RATE_LIMITED"),
    ),
    st.builds(lambda known: {"http_status": 200, "accepted": known}, one(True, False, "false", "true", None)),
)
POSTBACK = {
    "endpoint": one("/api/v1/postback", "/api/v1/exchange", "/r/x", "/p/x"),
    "event_type": one("sale", "lead"),
    "external_order_id": one("o1", "o2"),
    "conversion_id": one(778, "778", "779"),
    "duplicate": one(True, False),
    "click_id": one("c1", "c2"),
    "latency_ms": MILLIS,
    "retry_after": WAITS,
    "limit": number(600, 2, 3, 0),
    "window_s": number(60, 10, 3600, 0),
    "signature_hash": one("s1", "s2"),
    "amount": one(9.5, "9.5", "12"),
    "currency": one("USD", "EUR"),
    "idempotency_key": one("i1", "i2"),
    "idempotent_replay": one(True, False),
    "body_hash": one("b1", "b1", "b2"),
    "client_hash": one("h1", "h2"),
    "skew": one(0, 1_000_000, -299_999_999, 300_000_000, 300_000_001, -300_000_000, -300_000_001, -DAY),
}


def postback(at: int, key: str, tenant: str | None, columns: Row, reply: Row) -> Row:
    """A postback; a `tenant` of `own` is the usual one of its key."""
    tenant = TENANTS[key] if tenant == "own" else tenant
    return {"event": "postback", "at": at, "key_id": key, "tenant": tenant, **columns, **reply}


def postback_events() -> Events:
    columns = st.fixed_dictionaries({}, optional=POSTBACK)
    tenants = one(*["own"] * 6, "t2", None)
    return st.builds(postback, offsets(), one(*KEYS), tenants, columns, REPLIES)


def exchange_events() -> Events:
    return st.one_of(attempts(), attempts(), attempts(), notices(), notices(), auctions(), breaker_events())


@st.composite
def spoilt(draw: st.DrawFn, event: Row) -> Row:
    """The event with an optional value that does not cast, which leaves the column unknown."""
    kind = str(event["event"])
    keys = [key for key in OPTIONAL[kind] if key not in ("event_id", "tenant")]
    key = draw(st.sampled_from(keys))
    bad: list[Any] = [True, {}, [1], math.nan]
    cast = OPTIONAL[kind][key]
    if cast in (to_integer, to_duration, to_money, to_retry_after, to_flag, to_instant):
        bad = [{}, [1], math.nan, math.inf, "NaN", "often"]
    if cast is to_integer:
        bad += [1.5, "2.5", True, 2**64 + 1]
    if cast is to_duration:
        bad += [-3, "-0.5", False]
    if cast is to_money:
        bad += ["${AUCTION_PRICE}", True]
    kept = {name: value for name, value in event.items() if name != {"x_timestamp": "skew"}.get(key)}
    return {**kept, key: draw(st.sampled_from(bad))}


@st.composite
def sometimes_spoilt(draw: st.DrawFn, event: Row) -> Row:
    """The event, or seldom a spoilt one."""
    return draw(spoilt(event)) if draw(st.integers(0, 9)) == 9 else event


@st.composite
def hiding(draw: st.DrawFn, event: Row) -> Row:
    """The event in the format that may hide a part: seldom earlier attempts, a status or a key.

    That format has texts only, and no bodies.
    """
    texts = {key: value for key, value in event.items() if key != "body" and value is not False}
    hidden: Row = {"shown": True}
    if event["event"] == "attempt" and draw(st.integers(0, 2)) == 2:
        hidden |= {"last_only": True, "attempt_count": draw(one(None, None, 1, 2, 3, 7))}
    if event["event"] == "postback":
        texts = {
            key: texts[key] for key in texts if draw(st.integers(0, 6)) < 6 or key not in ("key_id", "http_status")
        }
    return texts | hidden
