"""nginx itself in front of partners and of an application: its logs tell what the partners and the callers counted."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.client import leave, send
from tests.real.nginx import Nginx, Partner
from tests.real.process import wait_until
from tests.real.truth import Call, Shown, call_counts, outcome_of, outcomes, retry_counts
from tests.real.upstreams import Upstreams

pytestmark = pytest.mark.slow

# Enough lines for the engine's own way of reading; the slow ones are few.
CALLS = 520
QUICK = ("200", "204", "503,200", "503,503,204", "503,503,503", "502,204", "429:3", "500", "504", "close,200", "torn")
SLOW = ("stall,204", "stall,stall,200", "reset,200", "reset,reset,reset")
LIMITED = 3


@dataclass
class Traffic:
    """What went through a proxy that has ended."""

    nginx: Nginx
    upstreams: Upstreams
    calls: list[Call]
    by_auction: dict[str, Call]


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traffic]:
    """Calls to partners of every kind, and what became of each attempt as the partners and the caller saw it."""
    with Upstreams() as upstreams:
        port, refused = upstreams.listen("dsp-three"), upstreams.refuse()
        partners = {
            "dsp-three": Partner([port, port, port]),
            "dsp-refused": Partner([refused, upstreams.listen("dsp-refused")]),
            "dsp-gone": Partner([port], patient=True),
            "dsp-dead": Partner([refused]),
            "dsp-mute": Partner([upstreams.ignore()]),
            "dsp-down": Partner([refused, upstreams.refuse()], gives_up=True),
        }
        nginx = Nginx(tmp_path_factory.mktemp("exchange") / "nginx", partners, upstreams.listen("application"))
        try:
            traffic = _exchange(nginx, upstreams)
        finally:
            nginx.end()
        yield traffic


def _exchange(nginx: Nginx, upstreams: Upstreams) -> Traffic:
    known: dict[str, tuple[str, list[str]]] = {}

    def call(partner: str, script: str, before: list[str], **headers: str) -> int | None:
        """Sends; `before` are the attempts that no partner can have seen."""
        name = f"call-{len(known)}"
        known[name] = partner, before
        return send(nginx.port, f"/{partner}/bid", name, script, **headers).status

    chance = random.Random(7)
    for script in [*(chance.choice(QUICK) for _ in range(CALLS)), *SLOW]:
        call("dsp-three", script, [])
    for script in ("200", "204", "503"):
        call("dsp-refused", script, ["connect_error"])
    call("dsp-dead", "200", ["connect_error"])
    call("dsp-mute", "200", ["connect_error"])
    call("dsp-down", "200", ["connect_error", "connect_error"])
    call("dsp-down", "200", ["not_sent_breaker"])
    call("dsp-three", "204", [], X_Source="site")
    for _ in range(LIMITED):
        assert call("dsp-three", "204", ["not_sent_limit"], X_Source="site") == 503
    gone = f"call-{len(known)}"
    known[gone] = "dsp-gone", []
    leave(nginx.port, "/dsp-gone/bid", gone, lambda: bool(upstreams.of(gone)))
    wait_until(lambda: nginx.exchange_json.read_bytes().count(b"\n") == len(known), "a call was not logged")

    calls, by_auction = [], {}
    for name, (partner, before) in known.items():
        seen = upstreams.of(name)
        ends = ["cancelled" if name == gone else _logged(one.did) for one in seen]
        calls.append(Call(partner, [*before, *ends]))
        by_auction.update({one.auction: calls[-1] for one in seen})
    return Traffic(nginx, upstreams, calls, by_auction)


def _logged(did: str) -> str:
    """The outcome that a log of headers can tell: that a body was torn off is not in it."""
    return "answered_unknown" if did == "torn" else outcome_of(did)


@pytest.fixture(scope="module", params=["exchange_json", "exchange_pairs"])
def shown(request: pytest.FixtureRequest, exchange: Traffic, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What RetryLens makes of the log, in both of its forms, without being told its format."""
    return Shown(tmp_path_factory.mktemp("shown") / "warehouse", getattr(exchange.nginx, request.param))


def test_every_line_is_a_call(shown: Shown, exchange: Traffic) -> None:
    report = shown.report
    assert (report.format, report.lines, report.facts) == ("nginx", len(exchange.calls), len(exchange.calls))
    assert not report.mended


def test_outcomes_are_what_partners_did(shown: Shown, exchange: Traffic) -> None:
    assert shown.outcomes() == outcomes(exchange.calls)
    kinds = {outcome for _, outcome in shown.outcomes()}
    assert kinds >= {"connect_error", "timeout", "reset", "cancelled", "not_sent_breaker", "not_sent_limit"}


def test_nginx_complains_of_the_same_failures(shown: Shown, exchange: Traffic) -> None:
    found: Counter[str] = Counter()
    for (_, outcome), count in shown.outcomes().items():
        found[outcome] += count
    said = exchange.nginx.complained
    assert found["connect_error"] == said("(111: Connection refused)") + said("timed out) while connecting to upstream")
    assert found["timeout"] == said("timed out) while reading response header")
    header = "while reading response header"
    assert found["reset"] == said(f"reset by peer) {header}") + said(f"prematurely closed connection {header}")
    assert found["not_sent_breaker"] == said("no live upstreams")
    assert found["not_sent_limit"] == said("limiting requests")
    assert found["cancelled"] == said("client prematurely closed connection")


def test_calls_and_retries_are_counted_as_they_were(shown: Shown, exchange: Traffic) -> None:
    expected = call_counts(exchange.calls)
    columns = next(iter(expected.values())).keys()
    assert shown.calls(*columns) == {partner: pytest.approx(counts) for partner, counts in expected.items()}
    assert shown.retries() == retry_counts(exchange.calls)


def test_attempts_stand_in_their_order(shown: Shown, exchange: Traffic) -> None:
    for partner in ("dsp-three", "dsp-refused"):
        attempts = shown.attempts(partner)
        expected = {a: call.outcomes for a, call in exchange.by_auction.items() if call.partner == partner}
        assert {auction: attempts[auction] for auction in expected} == expected


def test_a_throttled_partner_told_how_long(shown: Shown, exchange: Traffic) -> None:
    throttled = sum(seen.did == "429:3" for seen in exchange.upstreams.seen)
    (limits,) = (row for row in shown.rows("rate_limits") if row["partner"] == "dsp-three")
    assert limits["limited"] == throttled
    assert limits["requests"] == sum(len(call.sent) for call in exchange.calls if call.partner == "dsp-three")
    (told,) = (row for row in shown.rows("retry_after") if row["key"] == "dsp-three")
    assert (told["limited"], told["with_retry_after"]) == (throttled, throttled)


# Postbacks


@dataclass(frozen=True)
class Sent:
    """A postback, and what its sender got."""

    key: str
    order: str
    status: int | None
    retry_after: str | None


@dataclass
class Postbacks:
    """What senders did, and the logs of it."""

    nginx: Nginx
    sent: list[Sent]


ORDERS = {
    "k-plain": {"o-1": ["200"], "o-2": ["503,200"], "o-3": ["503,503", "200"], "o-4": ["400"]},
    "k-early": {"o-5": ["429:2", "pause", "200"]},
    "k-patient": {"o-6": ["429:2", "wait", "200"]},
    "k-limited": {f"o-{number}": ["200"] for number in range(7, 14)},
    "k-default": {f"o-{number}": ["200"] for number in range(14, 21)},
    "k-silent": {"o-21": ["429:9"]},
}
# What a sender does between its requests; it pauses for longer than the milliseconds of the log.
WAITS_S = {"pause": 0.1, "wait": 2.2}


@pytest.fixture(scope="module")
def postbacks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postbacks]:
    """Postbacks that are refused, limited by nginx or by the application, and sent again early and late."""
    with Upstreams() as upstreams:
        port = upstreams.listen("application")
        nginx = Nginx(tmp_path_factory.mktemp("postbacks") / "nginx", {}, port)
        try:
            sent = _postbacks(nginx.port)
        finally:
            nginx.end()
        yield Postbacks(nginx, sent)


def _postbacks(port: int) -> list[Sent]:
    sent = []
    for key, orders in ORDERS.items():
        for order, steps in orders.items():
            for number, step in enumerate(steps):
                if step in WAITS_S:
                    time.sleep(WAITS_S[step])
                else:
                    sent.append(_post(port, key, order, step, f"{order}-{number}"))
    return sent


def _post(port: int, key: str, order: str, script: str, name: str) -> Sent:
    folder = "default" if key == "k-default" else "v1"
    path = f"/api/{folder}/postback?order_id={order}&event_type=sale"
    reply = send(port, path, name, script, X_Api_Key=key, X_Timestamp=str(int(time.time())))
    return Sent(key, order, reply.status, reply.headers.get("retry-after"))


@pytest.fixture(scope="module", params=["postback_json", "postback_pairs"])
def received(request: pytest.FixtureRequest, postbacks: Postbacks, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What RetryLens makes of the log, in both of its forms."""
    return Shown(tmp_path_factory.mktemp("received") / "warehouse", getattr(postbacks.nginx, request.param))


def test_every_line_is_a_postback_whatever_its_upstreams(received: Shown, postbacks: Postbacks) -> None:
    assert (received.report.format, received.report.facts) == ("nginx", len(postbacks.sent))
    for key in ORDERS:
        rows = received.rows("postbacks", key=key)
        shown = Counter((row["external_order_id"], row["http_status"], row["retry_after_s"]) for row in rows)
        expected = Counter(
            (sent.order, sent.status, sent.retry_after and float(sent.retry_after))
            for sent in postbacks.sent
            if sent.key == key
        )
        assert shown == expected
        assert all(row["x_timestamp"] is not None for row in rows)


def test_orders_end_as_their_senders_saw(received: Shown, postbacks: Postbacks) -> None:
    expected = {}
    for order in dict.fromkeys(sent.order for sent in postbacks.sent):
        statuses = [sent.status for sent in postbacks.sent if sent.order == order]
        retries = statuses.index(200) if 200 in statuses else None
        states = {None: "pending", 0: "accepted_first"}
        expected[order] = len(statuses), states.get(retries, "accepted_after_retry"), retries
    columns = ("requests", "state", "retries_to_accept")
    shown = {row["external_order_id"]: tuple(row[column] for column in columns) for row in received.rows("orders")}
    assert shown == expected


def test_limits_count_refusals_of_nginx_and_of_the_application(received: Shown, postbacks: Postbacks) -> None:
    requests = Counter(sent.key for sent in postbacks.sent)
    limited = Counter(sent.key for sent in postbacks.sent if sent.status == 429)
    rows = received.rows("rate_limits")
    assert {row["partner"]: (row["requests"], row["limited"]) for row in rows} == {
        key: (requests[key], limited[key]) for key in ORDERS
    }
    assert limited["k-limited"] == 2


def test_the_limiter_s_default_503_is_told_apart(received: Shown, postbacks: Postbacks) -> None:
    refused = [row for row in received.rows("postbacks", key="k-default") if row["http_status"] == 503]
    assert len(refused) == sum(sent.status == 503 for sent in postbacks.sent if sent.key == "k-default") == 2
    assert {row["error_code"] for row in refused} == {"LIMIT_REQ"}
    own = [row for row in received.rows("postbacks", key="k-plain") if row["http_status"] == 503]
    assert [row["error_code"] for row in own] == [None]


def test_retry_after_is_kept_or_not(postbacks: Postbacks, tmp_path: Path) -> None:
    shown = Shown(tmp_path / "warehouse", postbacks.nginx.postback_json)
    rows = {row["key"]: row for row in shown.rows("retry_after")}
    verdicts = ("with_retry_after", "early", "on_time", "late", "pending", "wasted")
    assert {key: tuple(rows[key][verdict] for verdict in verdicts) for key in ("k-early", "k-patient", "k-silent")} == {
        "k-early": (1, 1, 0, 0, 0, 1),
        "k-patient": (1, 0, 1, 0, 0, 0),
        "k-silent": (1, 0, 0, 0, 1, 0),
    }
