"""Envoy's JSON access logs: given these lines, those attempts."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from ingest.rows.split import Splitter
from tests.foreign_log import Row, guessed, guide_sample, read, read_by_engine

LINE: dict[str, Any] = {
    "start_time": "2026-09-14T11:00:00.123Z",
    "method": "POST",
    "path": "/bid/dsp1?ifa=IFA-SENTINEL",
    "protocol": "HTTP/1.1",
    "response_code": 200,
    "response_flags": "-",
    "response_code_details": "via_upstream",
    "upstream_request_attempt_count": 1,
    "duration": 33,
    "upstream_service_time": "32",
    "upstream_cluster": "dsp1",
    "upstream_host": "192.0.2.7:443",
    "request_id": "e-1",
}
LOCAL = {"upstream_service_time": None}


def line(**values: Any) -> str:
    return json.dumps(LINE | values) + "\n"


def all_texts(**values: Any) -> str:
    """The same line as `json_format` writes it."""
    return json.dumps({key: "-" if value is None else str(value) for key, value in (LINE | values).items()}) + "\n"


def attempt(**values: Any) -> Row:
    """The attempt of a line, which must be the same whether values are typed or all texts."""
    typed, texts = read("envoy", line(**values)), read("envoy", all_texts(**values))
    assert typed.rows == texts.rows
    return typed.only


def test_a_line_is_the_last_attempt_of_a_call() -> None:
    row = attempt(upstream_request_attempt_count=2, duration=95, upstream_service_time="90")
    assert row["ts"] == datetime(2026, 9, 14, 11, 0, 0, 123_000)
    assert (row["auction_id"], row["partner"], row["http_status"]) == ("e-1", "dsp1", 200)
    assert (row["outcome"], row["attempt_count"], row["last_only"]) == ("answered_unknown", 2, True)
    assert (row["nbr"], row["price"], row["bids"], row["tmax_ms"], row["retry_after_s"]) == (None,) * 5


@pytest.mark.parametrize(
    "count, service, latency", [(1, "32", 32.0), (1, None, 33.0), (2, "32", None), (3, None, None), (None, "32", None)]
)
def test_latency_is_told_of_calls_with_one_attempt(
    count: int | None, service: str | None, latency: float | None
) -> None:
    """Both times that Envoy logs run from the call's begin: with retries they are no attempt's."""
    row = attempt(upstream_request_attempt_count=count, upstream_service_time=service)
    assert (row["latency_ms"], row["attempt_count"], row["last_only"]) == (latency, count, True)


@pytest.mark.parametrize(
    "flags, status, count, outcome",
    [
        ("-", 204, 1, "no_bid"),
        ("-", 429, 1, "rate_limited"),
        ("-", 503, 2, "server_error"),
        ("URX", 503, 3, "server_error"),
        ("UO", 503, 0, "not_sent_breaker"),
        ("UO", 503, 1, "not_sent_breaker"),
        ("RL", 429, 0, "not_sent_limit"),
        ("RL", 429, None, "not_sent_limit"),
        ("-", 403, 0, "not_sent_limit"),
        ("FI", 503, 0, "not_sent_limit"),
        ("UF", 503, 1, "connect_error"),
        ("UF,URX", 503, 3, "connect_error"),
        ("UH", 503, 0, "connect_error"),
        ("UH", 503, 2, "connect_error"),
        ("DF", 503, 0, "connect_error"),
        ("UT", 504, 1, "timeout"),
        ("UT", 204, 1, "timeout"),
        ("UT,URX", 204, 2, "timeout"),
        ("UMSDR", 504, 1, "timeout"),
        ("UC", 503, 1, "reset"),
        ("UR", 503, 1, "reset"),
        ("UC,URX", 503, 2, "reset"),
        ("LR", 503, 1, "reset"),
        ("DC", 0, 1, "cancelled"),
        ("DC", 0, 0, "cancelled"),
        ("UPE", 502, 1, "invalid_response"),
    ],
)
def test_flags_decide_over_the_status(flags: str, status: int, count: int | None, outcome: str) -> None:
    values = LOCAL | {"response_code_details": "envoy" if flags != "-" or count == 0 else "via_upstream"}
    row = attempt(response_flags=flags, response_code=status, upstream_request_attempt_count=count, **values)
    assert row["outcome"] == outcome


def test_a_broken_handshake_is_no_refused_connection() -> None:
    values = LOCAL | {"response_flags": "UF", "response_code": 503}
    told = attempt(**values, upstream_transport_failure_reason="TLS_error:|268435581:SSL routines:OPENSSL_internal")
    named = attempt(
        **values, response_code_details="upstream_reset_before_response_started{connection_failure|TLS_error:x}"
    )
    refused = attempt(**values, upstream_transport_failure_reason="delayed_connect_error:_Connection_refused")
    assert [row["outcome"] for row in (told, named, refused)] == ["tls_error", "tls_error", "connect_error"]


@pytest.mark.parametrize(
    "values, outcome",
    [
        ({"response_code": 503}, "server_error"),
        ({"response_code": 204}, "no_bid"),
        ({"response_code": 0, "response_flags": "UF"}, "connect_error"),
        ({"response_code": 0, "response_flags": "UT"}, "timeout"),
        ({"response_code": 503, "response_code_details": "via_upstream"}, "server_error"),
        ({"response_code": 429, "upstream_service_time": "9", "upstream_host": None}, "rate_limited"),
        ({"response_code": 0, "response_flags": "UO"}, "not_sent_breaker"),
    ],
)
def test_lines_of_the_upstream_log_are_attempts_though_their_count_is_0(values: dict[str, Any], outcome: str) -> None:
    single = {"response_code_details": None, "upstream_service_time": None, "upstream_request_attempt_count": 0}
    row = attempt(**single | values)
    assert (row["outcome"], row["attempt_count"], row["last_only"]) == (outcome, None, False)
    assert row["latency_ms"] == (None if outcome == "not_sent_breaker" else 33.0)


def test_the_type_of_the_log_tells_it_surely() -> None:
    single = {"upstream_service_time": None, "upstream_request_attempt_count": None, "upstream_host": None}
    row = attempt(**single, access_log_type="UpstreamEnd")
    assert (row["outcome"], row["last_only"], row["latency_ms"]) == ("answered_unknown", False, 33.0)


@pytest.mark.parametrize("flags, outcome", [("-", "not_sent_limit"), ("DC", "cancelled"), ("UH", "connect_error")])
def test_a_call_that_is_surely_one_was_never_sent_with_a_count_of_0(flags: str, outcome: str) -> None:
    values = {"response_code_details": None, "upstream_request_attempt_count": 0, "access_log_type": "DownstreamEnd"}
    row = attempt(**LOCAL, **values, response_flags=flags, response_code=503)
    assert (row["outcome"], row["latency_ms"]) == (outcome, None)


def test_lines_of_a_call_that_goes_on_are_no_attempts() -> None:
    kinds = ["DownstreamStart", "DownstreamPeriodic", "UpstreamPoolReady", "DownstreamEnd", "NotSet"]
    loaded = read("envoy", "".join(line(access_log_type=kind) for kind in kinds))
    assert (loaded.counts.facts, loaded.counts.rejects) == (2, 3)
    assert set(loaded.reasons) == {"nothing in it that gives a row: attempt"}


def test_what_a_longer_format_adds() -> None:
    row = attempt(response_code=429, retry_after="17", tmax_ms="120", region="eu", node="envoy-3")
    assert (row["retry_after_s"], row["tmax_ms"], row["region"], row["node"]) == (17.0, 120.0, "eu", "envoy-3")


def test_unset_values_are_absent() -> None:
    loaded = read("envoy", all_texts(request_id=None) + all_texts(upstream_cluster=None) + all_texts(start_time=None))
    assert loaded.reasons == [f"attempt: {key} is missing" for key in ("auction_id", "partner", "ts")]


def test_half_matching_lines_are_rejects_with_the_part() -> None:
    log = line() + line()[:80] + "\n" + line(start_time="yesterday")
    loaded = read("envoy", log)
    assert loaded.counts.facts == 1
    assert loaded.reasons[0].startswith("no JSON")
    assert loaded.reasons[1] == "attempt: ts is no RFC 3339 time and no epoch number"


def test_values_that_do_not_cast_are_mended() -> None:
    loaded = read("envoy", line(upstream_service_time="soon", response_code="200"))
    assert (loaded.only["latency_ms"], dict(loaded.counts.mended)) == (None, {"latency_ms": 1})


@pytest.mark.parametrize(
    "time, ts", [("03:30:00", datetime(2026, 10, 25, 0, 30)), ("04:00:00", datetime(2026, 10, 25, 2))]
)
def test_a_start_time_without_offset_takes_the_zone(time: str, ts: datetime) -> None:
    log = line(start_time=f"2026-10-25T{time}")
    assert read("envoy", log, "Europe/Kyiv").only["ts"] == ts
    assert read("envoy", log).counts.rejects == 1


def test_personal_values_are_never_stored() -> None:
    planted = {
        "user_agent": "AGENT-SENTINEL",
        "x_forwarded_for": "192.0.2.9",
        "downstream_remote_address": "192.0.2.9:1234",
        "authority": "HOST-SENTINEL",
        "upstream_transport_failure_reason": "TLS_error: CERT-SENTINEL",
    }
    log = line(**planted, response_flags="UF") + line(**planted, request_id=None) + line(**planted)[:-30] + "\n"
    loaded = read("envoy", log)
    assert (loaded.counts.facts, loaded.counts.rejects) == (1, 2)
    assert not [value for value in ("SENTINEL", "192.0.2") if value in loaded.kept()]


def test_the_sample_of_the_guide() -> None:
    assert guessed(guide_sample("envoy")) == "envoy"
    row = read("envoy", guide_sample("envoy")).only
    assert (row["auction_id"], row["outcome"], row["attempt_count"]) == ("a-17", "connect_error", 3)


def test_recognition() -> None:
    assert guessed(line()) == "envoy"
    assert guessed(all_texts(upstream_cluster=None)) == "envoy"


@pytest.mark.parametrize("written", [line, all_texts])
def test_long_logs_stay_with_the_engine(monkeypatch: pytest.MonkeyPatch, written: Any) -> None:
    log = "".join(written(request_id=f"e-{n}", response_flags="UF,URX" if n % 3 else "-") for n in range(600))
    whole = read("envoy", log)
    assert [row["auction_id"] for row in whole.rows["attempts"]] == [f"e-{n}" for n in range(600)]
    monkeypatch.setattr(Splitter, "split", None)
    assert read_by_engine("envoy", log) == whole
