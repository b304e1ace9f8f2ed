"""Every result table, against a second reading of the specification: hand-written logs that lie on its borders."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference import Limits
from tests.reference.compare import Chosen, check
from tests.reference.lines import DAY
from tests.reference.logs import BASE, render

pytestmark = pytest.mark.slow

Events = list[dict[str, Any]]
SECOND, MS = 1_000_000, 1_000


def attempt(at: int, auction: str, partner: str = "p", **columns: Any) -> dict[str, Any]:
    return {"event": "attempt", "at": at, "auction_id": auction, "partner": partner, **columns}


def postback(at: int, key: str = "k", status: int = 200, **columns: Any) -> dict[str, Any]:
    return {"event": "postback", "at": at, "key_id": key, "http_status": status, **columns}


def time_budgets() -> Events:
    """R5 and R12: half a millisecond before, on and after what is left."""
    events: Events = [{"event": "auction", "at": 0, "auction_id": "own", "tmax_ms": 300}]
    for number, elapsed in enumerate((139.5, 140, 140.5)):
        for by in (-0.5, 0, 0.5):
            call = {"elapsed_ms": elapsed, "timeout_ms": 120, "latency_ms": 120, "tmax_ms": 300 - elapsed + by}
            for auction, budget in ((f"{number}{by}", {"budget_ms": 300}), ("own", {})):
                events.append(attempt(0, auction, f"p{number}{by}", http_status=503))
                events.append(attempt(140 * MS, auction, f"p{number}{by}", http_status=204, **call, **budget))
    return events


def triggers() -> Events:
    """R1, R2, R3, R6 and R8: each trigger twice over, and retries of which some were given up."""
    answers: Events = [{"http_status": 204, "nbr": code} for code in (1, 2, 5, 6, "x")]
    answers += [{"http_status": status} for status in (200, 204, 302, 404, 429, 500, 502, 503, 504)]
    answers += [{"error_type": word} for word in ("dns", "tls", "timeout", "reset", "cancelled", "flux")]
    answers += [{"http_status": 200, "bids": 1}, {"http_status": 200, "body": "no"}]
    events: Events = []
    for number, answer in enumerate(answers):
        for place, last in enumerate(({"http_status": 204}, {"http_status": 503}, {"error_type": "cancelled"})):
            auction, partner = f"{number}-{place}", "pq"[number % 2]
            events.append(attempt(0, auction, partner, request_id="r", **answer))
            events.append(attempt(40 * MS, auction, partner, request_id=["r", "s", "r"][place], **last))
            events.append(attempt(80 * MS, auction, partner, http_status=200, bids=1))
            events.append(attempt(120 * MS, auction, partner, http_status=204))
    return events


def ties() -> Events:
    """Equal instants: by number, then by request id, where unknown is last, then the worse outcome first."""
    events: Events = []
    for number, (one, other) in enumerate(
        [({"attempt": 2}, {}), ({"request_id": "r"}, {}), ({"attempt": 1, "request_id": "s"}, {"attempt": 1})]
    ):
        for partner, first, second in (("p", 503, 204), ("q", 204, 503)):
            events.append(attempt(0, f"t{number}", partner, http_status=first, **other))
            events.append(attempt(0, f"t{number}", partner, http_status=second, **one))
        events += [attempt(0, f"v{number}", http_status=status) for status in (204, 503)]
    return events


def reported_breakers() -> Events:
    """R7: at and about the instants of changes, told by events for one node, for all nodes, and by marks."""
    changes = [(10, "closed", "open"), (20, "open", "half_open"), (30, "half_open", "closed")]
    events: Events = []
    for at, before, after in changes:
        change = {"event": "breaker", "at": at * SECOND, "state_from": before, "state_to": after}
        events += [{**change, "partner": "p", "node": "n"}, {**change, "partner": "q"}]
    for at in (10 * SECOND - 1, 10 * SECOND, 10 * SECOND + 1, 20 * SECOND, 20 * SECOND + 1, 30 * SECOND + 1):
        for partner, node in (("p", "n"), ("p", "m"), ("p", None), ("q", "n"), ("q", None)):
            events.append(attempt(at, f"{at}{node}", partner, node=node, http_status=204))
    for number, mark in enumerate(("closed", "open", None, "open", "half_open")):
        events.append(attempt(number * SECOND, f"m{number}", "marked", breaker=mark, http_status=503))
    return events


def queues() -> Events:
    """R9: the fourth auction within, at and beyond a second of the third, and rows that are interrupted."""
    events: Events = []
    for source, last, ended in (
        ("within", SECOND - 1, {}),
        ("at", SECOND, {}),
        ("beyond", SECOND + 1, {}),
        ("won", SECOND, {"winner": "nobody"}),
        ("bid", SECOND, None),
        ("told twice", SECOND, {}),
    ):
        for number, at in enumerate((0, 2 * SECOND, 4 * SECOND, 4 * SECOND + last, 4 * SECOND + 2 * last)):
            auction, place = f"{source}{number}", {"source": source, "placement": "x"}
            if number == 1 and ended is None:
                events.append(attempt(at, auction, http_status=200, bids=1, **place))
            elif number % 2:
                told = ended if ended and number == 1 else {}
                events.append({"event": "auction", "at": at, "auction_id": auction, **place, **told})
                if source == "told twice":
                    events.append(attempt(at, auction, http_status=503, source="elsewhere"))
            else:
                events.append(attempt(at, auction, http_status=503, **place))
    return events


def waits(newest: int) -> Events:
    """Retry-After: followers about t + r - 1 s, t + 2 r and t + r + 1 s; a wait that nobody followed."""
    events: Events = []
    for asked, latency in ((10, 0), (10, 120.5), (1, 0), (0, 0), (2, None)):
        since = int((latency or 0) * MS)
        for edge in (0, asked - 1, asked + 1, 2 * asked):
            for by in (-1, 0, 1):
                key, at = f"{asked} {latency} {edge} {by}", since + edge * SECOND + by
                refused = {"latency_ms": latency, "retry_after": asked} if by else {"latency_ms": latency}
                refused |= {} if by else {"retry_at": asked}
                events += [postback(DAY, key, 429, **refused), postback(DAY + at, key)]
                events.append(attempt(DAY, key, key, http_status=429, **refused))
                events.append(attempt(DAY + at, f"{key} again", key, http_status=204))
    long_ago = {"retry_after": "Mon, 14 Sep 2026 00:00:30 GMT"}
    events += [postback(DAY, "past", 429, **long_ago), postback(DAY + SECOND, "past")]
    events += [postback(DAY, "odd", 429, retry_after="1.5")]
    events += [postback(DAY + 20 * SECOND, "quiet", 429, retry_after=10, external_order_id="o", event_type="sale")]
    events += [attempt(DAY + 20 * SECOND, "quiet", "quiet", http_status=429, retry_after=10)]
    return [
        *events,
        postback(DAY, "quiet", 500, external_order_id="o", event_type="sale", endpoint="/elsewhere"),
        postback(newest, "newest"),
        attempt(newest, "newest", "newest", http_status=204),
    ]


def orders(newest: int) -> Events:
    """Borders of 100 ms, five retries and 24 h, and every kind of fault with its innocent neighbour."""

    def order(name: str, *replies: dict[str, Any], step: int = SECOND) -> Events:
        common = {"external_order_id": name, "event_type": "sale", "tenant": "t"}
        return [postback(step * number, **{**common, **reply}) for number, reply in enumerate(replies)]

    refused = {"status": 500}
    return [
        *order("100 ms", *[refused] * 7, step=100 * MS),
        *order("101 ms", *[refused] * 6, step=100 * MS + 1),
        *order("double", {"conversion_id": 1}, {"conversion_id": 2}, {"conversion_id": 3, "status": 409}),
        *order("not double", {"conversion_id": 1}, {"conversion_id": 3, "status": 409}),
        *order("refused before", {"conversion_id": 1, "status": 409}, {"conversion_id": 1}),
        *order("unmarked", {"conversion_id": 1}, {"conversion_id": 1}),
        *order("marked", {"conversion_id": 1}, {"conversion_id": 1, "duplicate": True}),
        *order("replayed", {"conversion_id": 1}, {"conversion_id": 1, "idempotent_replay": True}),
        *order("no id", {}, {}),
        *order("amounts", {"amount": 1}, {"amount": "1.000001", **refused}),
        *order("currencies", {"amount": 1, "currency": "USD"}, {"amount": 1, "currency": "EUR"}),
        *order("one currency", {"amount": 1, "currency": "USD"}, {"amount": 1}),
        *order("bodies", {"body_hash": "a"}, {"body_hash": "b", **refused}),
        *order("priced bodies", {"body_hash": "a"}, {"body_hash": "b", "amount": 1}),
        *order("earlier", {"duplicate": True, "conversion_id": 9}, {"duplicate": True}),
        *order("earlier on a retry", refused, {"duplicate": True}),
        *order("seen but refused", {"duplicate": True, **refused}, {}),
        *order("signed", {"signature_hash": "s", **refused}, {"signature_hash": "t", **refused}),
        *order("signed again", *[{"signature_hash": s, **refused} for s in ("u", "v", None, "u")]),
        *order("signed as before", *[{"signature_hash": s, **refused} for s in ("w", "x", "x")]),
        *order("limited and stale", refused, {"status": 429, "error_code": "POSTBACK_STALE_TIMESTAMP"}),
        *order("key", {"idempotency_key": "i", "body_hash": "a"}, {"idempotency_key": "i", "body_hash": "a"}),
        *order("key again", {"idempotency_key": "i", "body_hash": "b"}, {"idempotency_key": "i", "body_hash": "c"}),
        *order("key of another", {"key": "l", "idempotency_key": "i", "body_hash": "d"}),
        *order("keys of two", *({"key": key, "idempotency_key": "j", "body_hash": key} for key in "kl")),
        postback(9 * SECOND, "m", idempotency_key="i", body_hash="a"),
        postback(10 * SECOND, "m", idempotency_key="i", body_hash="b", event_type="lead"),
        postback(newest),
    ]


def signatures() -> Events:
    """Skews of 300 s and signatures of 600 s ago, to the microsecond; a 429 uses nothing up."""
    events = [postback(number, skew=skew * 300 * SECOND + by) for number, (skew, by) in enumerate(
        [(-1, -1), (-1, 0), (-1, 1), (0, 0), (1, -1), (1, 0), (1, 1)]
    )]  # fmt: skip
    for key, places in (("a", (0, 600 * SECOND)), ("b", (0, 600 * SECOND + 1)), ("c", (0, 1, 599 * SECOND))):
        events += [postback(at, key, signature_hash="s", tenant="t") for at in places]
    events += [postback(at, "d", 200 if at else 429, signature_hash="s") for at in (0, 1, 600 * SECOND + 1)]
    codes = ("POSTBACK_REPLAY", "POSTBACK_STALE_TIMESTAMP", "POSTBACK_RATE_LIMITED")
    return events + [postback(0, "e", 400, error_code=code, skew=400 * SECOND) for code in codes]


def windows() -> Events:
    """Lengths and limits, some told by the request, some by others, some by nobody."""
    events: Events = []
    for endpoint in ("/api/v1/postback", "/api/v1/exchange", "/r/x", "/p/x", None):
        for number, told in enumerate(({}, {"limit": 0}, {"window_s": 10, "limit": 5}, {"window_s": 0}, {"limit": 3})):
            for at in (0, 10 * SECOND - 1, 10 * SECOND, 60 * SECOND - 1, 60 * SECOND):
                who = {"endpoint": endpoint, "client_hash": "h" if number % 2 else None}
                events.append(postback(at + number, "kl"[number > 2], 429 if number == 1 else 200, **who, **told))
                events.append(postback(at + number, f"alone {number}", **who, **told))
    return [postback(7, "k", endpoint="/api/v1/postback", window_s=length) for length in (60, 3600)] + events


def sent(partner: str, *statuses: tuple[float, int]) -> Events:
    """Attempts of one partner, over two nodes: (second, status) each."""
    return [
        attempt(round(at * SECOND), f"{partner}{number}", partner, http_status=status, node="nm"[number % 2])
        for number, (at, status) in enumerate(statuses)
    ]


def awaited_probe(newest: int) -> Events:
    """A breaker that opened at 19 s, of which the data see the end of the open time or do not."""
    given_up = [attempt(9 * SECOND, f"x{number}", "waiting", error_type="cancelled") for number in range(5)]
    elsewhere = attempt(newest, "newest", "newest", http_status=204)
    return [*sent("waiting", *((number, 503) for number in range(20))), *given_up, elsewhere]


def storms(newest: int) -> Events:
    """The reference breaker: half of twenty, thirty seconds, the probe, and what the window forgets."""
    half = [(number, 204 if number % 2 else 503) for number in range(20)]
    return [
        *sent("half", *half, (20, 503), (48.999999, 503), (49, 204), *((49.1 + n / 10, 503) for n in range(20))),
        *sent("fewer", *((number, 503) for number in range(19)), (30, 503), (30.5, 503)),
        *sent("less", (0, 204), *half, (21, 204)),
        *sent("again", *((number, 503) for number in range(20)), (49.5, 503), (79.5, 204), (79.5, 503)),
        *sent("same instant", *((5, 503) for _ in range(25))),
        *(attempt(9 * SECOND, f"y{number}", "less", not_sent="limit") for number in range(5)),
        attempt(newest, "newest", "newest", http_status=204),
    ]


def edges(*places: int, partners: list[str] | None = None) -> list[Chosen]:
    """A range from and a range to each instant."""
    return [chosen for at in places for chosen in ((BASE + at, None, partners), (None, BASE + at, partners))]


@pytest.mark.parametrize(
    ("events", "filters"),
    [
        pytest.param(time_budgets(), [], id="time budgets"),
        pytest.param(triggers(), edges(1, partners=["p"]), id="triggers"),
        pytest.param(ties(), [], id="ties"),
        pytest.param(reported_breakers(), edges(10 * SECOND, 10 * SECOND + 1), id="reported breakers"),
        pytest.param(queues(), edges(4 * SECOND, 5 * SECOND), id="queues"),
        pytest.param(waits(DAY + 40 * SECOND), edges(DAY + 20 * SECOND), id="nobody followed yet"),
        pytest.param(waits(DAY + 40 * SECOND + 1), edges(DAY + 1, partners=["quiet"]), id="nobody followed"),
        pytest.param(orders(DAY - 1), edges(SECOND), id="orders within a day"),
        pytest.param(orders(DAY), [(None, None, ["l", "m"])], id="orders after a day"),
        pytest.param(signatures(), edges(1, 600 * SECOND), id="signatures"),
        pytest.param(windows(), [*edges(10 * SECOND, 60 * SECOND), (None, None, ["l"])], id="windows"),
        pytest.param(awaited_probe(49 * SECOND - 1), edges(19 * SECOND), id="open"),
        pytest.param(awaited_probe(49 * SECOND), edges(49 * SECOND), id="half-open"),
        pytest.param(storms(300 * SECOND), edges(49 * SECOND, 79_500_000), id="storms"),
    ],
)
def test_borders_equal_the_reference(events: Events, filters: list[Chosen]) -> None:
    lines = [render(event) + b"\n" for event in events]
    check(([b"".join(lines[1::2]), b"".join(lines[::2])], True, [*filters]))


def change(at: int, state_from: str, state_to: str, node: str) -> dict[str, Any]:
    told = {"state_from": state_from, "state_to": state_to, "node": node}
    return {"event": "breaker", "at": at * SECOND, "partner": "p", **told}


@pytest.mark.parametrize(
    "loads",
    [
        pytest.param([[attempt(4, "b"), change(9, "closed", "open", "n")], [attempt(1, "a")]], id="first unknown"),
        pytest.param(
            [
                [attempt(4, "b", node="n"), change(9, "open", "closed", "n")],
                [change(7, "open", "half_open", "n"), attempt(8 * SECOND, "a", node="n", http_status=204)],
            ],
            id="half-open between",
        ),
        pytest.param(
            [
                [change(2, "closed", "half_open", "n"), attempt(3 * SECOND, "b", node="n"), attempt(3, "c", node="n")],
                [change(1, "half_open", "closed", "n")],
                [attempt(1, "a", node="n")],
            ],
            id="never open",
        ),
    ],
)
def test_late_lines_change_reported_states(loads: list[Events]) -> None:
    files = [b"".join(render(event) + b"\n" for event in events) for events in loads]
    check((files, True, []), names=("breakers", "audit"))


def test_settings_of_the_breaker_equal_the_reference() -> None:
    limits = {None: Limits(min_attempts=3), "again": Limits(window_s=2, min_attempts=2, failure_share=0.75, open_s=1)}
    lines = [render(event) + b"\n" for event in storms(60 * SECOND)]
    check(([b"".join(lines)], False, edges(49 * SECOND)), limits, ("breakers",))
