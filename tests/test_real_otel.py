"""A client that is instrumented with the OpenTelemetry SDK: its spans tell what it and its partners counted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.otel import Client, Truth
from tests.real.truth import Call, Shown, call_counts, outcome_of, outcomes, retry_counts
from tests.real.upstreams import Upstreams

pytestmark = pytest.mark.slow

CALLS = 1100
# Every line is of so many calls: more than 500 lines, which the engine reads its own way.
LINE = 2
RETRIES = 2
QUICK = (
    "200", "204", "503,200", "503,503,204", "503,503,503", "reset,204", "close,200", "429:3", "500", "404", "torn,200",
    "301,200",
)  # fmt: skip
SLOW = ("stall,204", "stall,stall,stall")
ERRORS = {
    "ConnectionRefusedError": "connect_error",
    "ConnectionResetError": "reset",
    "RemoteDisconnected": "reset",
    "IncompleteRead": "reset",
    "TimeoutError": "timeout",
    "301": "unexpected_status",
}


@dataclass
class Traffic:
    """What a client did, what its partners saw, and the file of its spans."""

    traces: Path
    truth: Truth
    upstreams: Upstreams

    @property
    def calls(self) -> list[Call]:
        return [Call(partner, [_outcome(end) for end in ends]) for partner, ends in self.truth.calls.values()]


def _outcome(end: str) -> str:
    return ERRORS.get(end) or outcome_of(end)


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traffic]:
    """Calls to a partner that fails in every way, and to one that refuses."""
    traces = tmp_path_factory.mktemp("otel") / "traces.jsonl"
    chance = random.Random(3)
    with Upstreams() as upstreams:
        ports = {"dsp-a.example": upstreams.listen("dsp-a.example"), "dsp-b.example": upstreams.refuse()}
        client = Client(traces, ports, RETRIES)
        for number in range(CALLS):
            client.call("dsp-a.example", f"a-{number}", chance.choice(QUICK))
            if number % LINE == LINE - 1:
                client.flush()
        for number, script in enumerate(SLOW):
            client.call("dsp-a.example", f"s-{number}", script)
        client.call("dsp-b.example", "b", "200")
        client.close()
        yield Traffic(traces, client.truth, upstreams)


@pytest.fixture(scope="module")
def shown(traffic: Traffic, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What RetryLens makes of the spans."""
    return Shown(tmp_path_factory.mktemp("shown") / "warehouse", traffic.traces)


def test_every_line_gives_its_spans(shown: Shown, traffic: Traffic) -> None:
    lines = traffic.traces.read_bytes().count(b"\n")
    assert lines > CALLS // LINE
    assert (shown.report.format, shown.report.lines, shown.report.facts) == ("otlp", lines, lines)
    assert not shown.report.mended


def test_outcomes_are_what_the_client_saw(shown: Shown, traffic: Traffic) -> None:
    assert shown.outcomes() == outcomes(traffic.calls)
    kinds = {outcome for _, outcome in shown.outcomes()}
    assert kinds >= {"connect_error", "timeout", "reset", "rate_limited", "server_error", "client_error", "no_bid"}


def test_as_many_attempts_as_the_partner_saw(shown: Shown, traffic: Traffic) -> None:
    reached = Counter(seen.partner for seen in traffic.upstreams.seen)
    attempts = {partner: row["attempts_sent"] for partner, row in shown.calls("attempts_sent").items()}
    assert attempts == {"dsp-a.example": reached["dsp-a.example"], "dsp-b.example": RETRIES + 1}


def test_calls_and_retries_are_counted_as_they_were(shown: Shown, traffic: Traffic) -> None:
    expected = call_counts(traffic.calls)
    columns = next(iter(expected.values())).keys()
    assert shown.calls(*columns) == {partner: pytest.approx(counts) for partner, counts in expected.items()}
    assert shown.retries() == retry_counts(traffic.calls)


def test_attempts_stand_in_their_order_by_trace(shown: Shown, traffic: Traffic) -> None:
    for partner in ("dsp-a.example", "dsp-b.example"):
        expected = {
            trace: [_outcome(end) for end in ends] for trace, (to, ends) in traffic.truth.calls.items() if to == partner
        }
        assert shown.attempts(partner) == expected


def test_addresses_with_their_queries_are_not_kept(shown: Shown, traffic: Traffic) -> None:
    assert b"user=PLANTED" in traffic.traces.read_bytes()
    rows = shown.rows("attempts", partners=("dsp-a.example", "dsp-b.example"), limit=100_000)
    assert "PLANTED" not in str(rows)
