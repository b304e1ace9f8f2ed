"""HAProxy itself in front of partners: its log tells what the partners, the callers and HAProxy's own counters say."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.real.client import leave, send
from tests.real.haproxy import SERVER_TIMEOUT_MS, Haproxy, Partner
from tests.real.process import wait_until
from tests.real.truth import ANSWERS, Shown, outcome_of
from tests.real.upstreams import Upstreams

pytestmark = pytest.mark.slow

ZONE = "Europe/Kyiv"
CALLS = 520
RETRIES = 3
QUICK = ("200", "204", "503", "429:3", "500", "504")
AGAIN = ("503,200", "503,503,204", "503,503,503,503", "close,200", "200", "204")
SLOW = ("stall,204", "reset,200", "reset,reset,reset,reset")
RETRY_ON = "conn-failure empty-response response-timeout 503"
NOT_SENT = {"not_sent_breaker", "not_sent_limit"}


@dataclass(frozen=True)
class Truth:
    """A call: its partner, how it ended, how many attempts were sent, and the partner's name of the auction."""

    partner: str
    last: str
    sent: int
    auction: str | None


@dataclass
class Traffic:
    """What went through a proxy that has ended, and what that proxy had counted."""

    haproxy: Haproxy
    calls: list[Truth]
    counters: dict[str, dict[str, int]]


@pytest.fixture(scope="module", params=[True, False], ids=["recommended", "httplog"])
def traffic(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traffic]:
    """Calls to partners of every kind, logged as the guide recommends and as `option httplog` alone does."""
    with Upstreams() as upstreams:
        refused = upstreams.refuse()
        partners = {
            "dsp-once": Partner((upstreams.listen("dsp-once"),)),
            "dsp-again": Partner((upstreams.listen("dsp-again"),), RETRIES, RETRY_ON),
            "dsp-other": Partner(
                (refused, upstreams.listen("dsp-other")), options=("option redispatch 1", "balance first")
            ),
            "dsp-dead": Partner((refused,)),
            "dsp-mute": Partner((upstreams.ignore(),), retries=1),
            "dsp-down": Partner(()),
            "dsp-queue": Partner((upstreams.listen("dsp-queue"),), maxconn=1),
            "dsp-gone": Partner((upstreams.listen("dsp-gone"),), options=("timeout server 8s",)),
        }
        haproxy = Haproxy(tmp_path_factory.mktemp("haproxy") / "run", partners, ZONE, recommended=request.param)
        try:
            calls = _calls(haproxy, upstreams)
            haproxy.wait_for_lines(len(calls))
            counters = haproxy.counters()
        finally:
            haproxy.end()
        yield Traffic(haproxy, calls, counters)


def _calls(haproxy: Haproxy, upstreams: Upstreams) -> list[Truth]:
    known: dict[str, tuple[str, str | None, int]] = {}

    def call(partner: str, script: str, last: str | None = None, unseen: int = 0) -> int | None:
        """Sends; `unseen` attempts reach no partner, and `last` is an end that no partner can have seen."""
        name = f"call-{len(known)}"
        known[name] = partner, last, unseen
        return send(haproxy.port, f"/{partner}/bid", name, script).status

    chance = random.Random(11)
    for _ in range(CALLS // 2):
        call("dsp-once", chance.choice(QUICK))
        call("dsp-again", chance.choice(AGAIN))
    for script in SLOW:
        call("dsp-again", script)
    for script in ("reset", "close", "stall", "torn"):
        call("dsp-once", script)
    # The first server refuses; where the answer comes from the other the retry was redispatched.
    for script in ("200", "204"):
        call("dsp-other", script, unseen=1)
    call("dsp-dead", "200", "connect_error", 1 + RETRIES)
    call("dsp-mute", "200", "connect_error", 2)
    call("dsp-down", "200", "not_sent_breaker")
    busy = threading.Thread(target=call, args=("dsp-queue", "stall"))
    busy.start()
    wait_until(lambda: any(seen.partner == "dsp-queue" for seen in upstreams.seen), "nothing is under way")
    assert call("dsp-queue", "200", "not_sent_limit") == 503
    busy.join()
    gone = f"call-{len(known)}"
    known[gone] = "dsp-gone", "cancelled", 0
    # HAProxy looks out for a caller that leaves only while it still reads from it.
    leave(haproxy.port, "/dsp-gone/bid", gone, lambda: bool(upstreams.of(gone)), promised=100)

    calls = []
    for name, (partner, last, unseen) in known.items():
        seen = upstreams.of(name)
        end = last or outcome_of(seen[-1].did)
        calls.append(Truth(partner, end, unseen + len(seen), seen[0].auction if seen else None))
    return calls


@pytest.fixture(scope="module")
def shown(traffic: Traffic, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What RetryLens makes of the log, told only the zone of its clock."""
    return Shown(tmp_path_factory.mktemp("shown") / "warehouse", traffic.haproxy.log, zone=ZONE)


def test_every_line_is_a_call(shown: Shown, traffic: Traffic) -> None:
    assert (shown.report.format, shown.report.facts) == ("haproxy", len(traffic.calls))
    assert not shown.report.mended
    rejected = [row["reason"] for row in shown.rows("rejects")]
    assert shown.report.lines == len(traffic.calls) + len(rejected)


def test_the_last_attempt_of_each_call_ends_as_the_partner_did(shown: Shown, traffic: Traffic) -> None:
    assert shown.outcomes() == Counter((call.partner, call.last) for call in traffic.calls)
    kinds = {outcome for _, outcome in shown.outcomes()}
    assert kinds >= NOT_SENT | {"connect_error", "timeout", "reset", "cancelled", "rate_limited", "server_error"}


def test_attempts_are_counted_though_only_the_last_shows(shown: Shown, traffic: Traffic) -> None:
    expected = {}
    for partner in {call.partner for call in traffic.calls}:
        calls = [call for call in traffic.calls if call.partner == partner]
        sent = [call for call in calls if call.last not in NOT_SENT]
        attempts = sum(call.sent for call in sent)
        judged = [call for call in sent if call.last != "cancelled"]
        expected[partner] = {
            "calls": len(calls),
            "calls_sent": len(sent),
            "attempts_sent": attempts,
            "not_sent": len(calls) - len(sent),
            "retries": attempts - len(sent),
            "retried": sum(call.sent > 1 for call in sent),
            "amplification": attempts / len(sent) if sent else None,
            "effective_success": sum(call.last in ANSWERS for call in judged) / len(judged) if judged else None,
        }
    columns = ("calls", "calls_sent", "attempts_sent", "not_sent", "retries", "retried", "amplification")
    shown_calls = shown.calls(*columns, "effective_success")
    assert shown_calls == {partner: pytest.approx(counts) for partner, counts in expected.items()}


def test_haproxy_counted_the_same_retries(shown: Shown, traffic: Traffic) -> None:
    # A retry after an answer, by `retry-on`, counts twice in HAProxy's statistics, but once in its log.
    retries = {partner: row["retries"] for partner, row in shown.calls("retries").items() if partner != "dsp-again"}
    assert sum(retries.values()) > 0
    assert retries == {name: traffic.counters[name]["wretr"] + traffic.counters[name]["wredis"] for name in retries}


def test_what_needs_the_earlier_attempts_is_unknown(shown: Shown) -> None:
    calls = shown.calls("actual_success", "recovered")
    assert calls["dsp-again"] == {"actual_success": None, "recovered": None}
    rates = {row["success_rate"] for row in shown.rows("retries") if row["partner"] == "dsp-again"}
    assert not rates - {None}


def test_times_lie_in_the_declared_zone(shown: Shown, traffic: Traffic) -> None:
    rows = shown.rows("attempts", partners=("dsp-once",), limit=CALLS)
    written = datetime.fromtimestamp(traffic.haproxy.log.stat().st_mtime, UTC)
    assert all(timedelta() <= written - row["ts"].replace(tzinfo=UTC) < timedelta(minutes=2) for row in rows)
    stalls = [row["latency_ms"] for row in rows if row["outcome"] == "timeout"]
    assert stalls == [pytest.approx(SERVER_TIMEOUT_MS, rel=0.5)]


def test_ids_and_waits_are_known_where_they_are_logged(traffic: Traffic, shown: Shown) -> None:
    throttled = sum(call.last == "rate_limited" for call in traffic.calls if call.partner == "dsp-once")
    (told,) = (row for row in shown.rows("retry_after") if row["key"] == "dsp-once")
    assert told["limited"] == throttled
    auctions = [call.auction for call in traffic.calls if call.partner == "dsp-once"]
    if b"auction_id=" in traffic.haproxy.log.read_bytes():
        assert told["with_retry_after"] == throttled
        assert shown.attempts("dsp-once").keys() == set(auctions)
    else:
        assert told["with_retry_after"] == 0
        assert len(shown.attempts("dsp-once")) == len(auctions)


def test_lines_that_are_no_calls_are_rejects(traffic: Traffic, tmp_path: Path) -> None:
    log = tmp_path / "haproxy.log"
    head = "Nov 30 21:41:13 lb1 haproxy[1]: 192.0.2.7:4 [30/Nov/2026:21:41:13.874] exchange"
    lines = [
        f'{head} exchange/<NOSRV> -1/-1/-1/-1/0 400 0 - - PR-- 2/2/0/0/0 0/0 "<BADREQ>"',
        f'{head} dsp-once/s1 0/0/1/2 200 145 - - ---- 1/1/0/0/0 0/0 "POST /bid HTTP/1.1"',
        "Nov 30 21:41:12 lb1 haproxy[1]: Server dsp/s1 is DOWN, reason: Layer4 connection problem.",
        f'{head} dsp-once/s1 0/0/1/2/3 200 145 - - ---- 1/1/0/0/0 0/0 "POST /bid HTTP/1.1"',
    ]
    log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    shown = Shown(tmp_path / "warehouse", log, zone=ZONE)
    reasons = [row["reason"] for row in shown.rows("rejects")]
    assert (shown.report.facts, len(reasons)) == (1, 3)
    assert "nothing in it that gives a row" in reasons[0]
    assert "timers" in reasons[1]
    assert "192.0.2.7" not in str(shown.rows("rejects") + shown.rows("attempts", partners=("dsp-once",)))
