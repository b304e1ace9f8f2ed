"""nginx and HAProxy: lines of unusual shape that their configuration gives, and local times when clocks change."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from tests.foreign_log import Row, read

HAPROXY = (
    "{client} [{time}] exchange~ dsp-a/s1 0/0/1/29/30 {status} 375 - - ---- 1/1/1/1/{retries} 0/0"
    ' {headers}"POST /bid HTTP/1.1"{more}\n'
)
NGINX: dict[str, str] = {
    "msec": "1789383600.500",
    "request_id": "q-1",
    "partner": "dsp1",
    "status": "200",
    "request_time": "0.300",
    "upstream_addr": "192.0.2.1:443",
    "upstream_status": "200",
    "upstream_connect_time": "0.010",
    "upstream_header_time": "0.100",
    "upstream_response_time": "0.300",
}


def haproxy(**values: str) -> Row:
    """The attempt of a line with these values."""
    usual = {
        "client": "192.0.2.3:33317",
        "time": "14/Sep/2026:11:00:00.655",
        "status": "204",
        "retries": "0",
        "headers": "",
        "more": "",
    }
    prefix = values.pop("prefix", "Sep 14 11:00:00 lb1 haproxy[14389]: ")
    return read("haproxy", prefix + HAPROXY.format(**usual | values), zone="Europe/Kyiv").only


def nginx(**values: str) -> list[Row]:
    """The attempts of a line with these values, in their order."""
    return sorted(read("nginx", json.dumps(NGINX | values) + "\n").rows["attempts"], key=lambda row: row["ts"])


@pytest.mark.parametrize(
    "values",
    [
        {"prefix": ""},
        {"prefix": "<134>Sep 14 11:00:00 haproxy[14389]: "},
        {"prefix": "2026-09-14T11:00:00.655+03:00 lb1 haproxy[14389]: "},
        {"client": "2001:db8::3:33317"},
        {"client": "unix:1"},
        {"headers": "{bidder.example|x} {} "},
        {"more": " auction_id= retry_after="},
        {"more": " auction_id=- retry_after=-"},
    ],
)
def test_haproxy_lines_are_read_whatever_stands_around_the_call(values: dict[str, str]) -> None:
    row = haproxy(**values)
    assert (row["partner"], row["outcome"], row["latency_ms"]) == ("dsp-a", "no_bid", 30.0)
    assert row["ts"] == datetime(2026, 9, 14, 8, 0, 0, 655_000)
    assert row["auction_id"]
    assert row["retry_after_s"] is None


@pytest.mark.parametrize(
    "local, utc",
    [
        ("25/Oct/2026:02:59:59.000", datetime(2026, 10, 24, 23, 59, 59)),
        ("25/Oct/2026:03:30:00.000", datetime(2026, 10, 25, 0, 30)),  # happens twice: the first
        ("25/Oct/2026:04:00:00.000", datetime(2026, 10, 25, 2, 0)),
        ("29/Mar/2026:02:59:59.000", datetime(2026, 3, 29, 0, 59, 59)),
        ("29/Mar/2026:03:30:00.000", datetime(2026, 3, 29, 1, 30)),  # is skipped: counted on from the change
        ("29/Mar/2026:04:00:00.000", datetime(2026, 3, 29, 1, 0)),
    ],
)
def test_a_local_time_lies_where_the_zone_says_also_when_clocks_change(local: str, utc: datetime) -> None:
    assert haproxy(time=local)["ts"] == utc


def ends(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row["attempt"], row["outcome"], row["latency_ms"]) for row in rows]


def test_nginx_upstreams_of_several_rounds_and_kinds_of_addresses() -> None:
    rows = nginx(
        upstream_addr="unix:/run/dsp.sock : [2001:db8::1]:443, 192.0.2.2:443",
        upstream_status="500 : 504, 200",
        upstream_connect_time="0.000 : -, 0.010",
        upstream_header_time="0.010 : -, 0.100",
        upstream_response_time="0.010 : 0.100, 0.190",
    )
    assert ends(rows) == [(1, "server_error", 10.0), (2, "connect_error", 100.0), (3, "answered_unknown", 190.0)]
    assert [row["ts"].microsecond for row in rows] == [200_000, 210_000, 310_000]


@pytest.mark.parametrize(
    "values, outcome",
    [
        ({"status": "499", "upstream_status": "-", "upstream_header_time": "-"}, "cancelled"),
        ({"status": "502", "upstream_status": "502", "upstream_addr": "dsp1"}, "not_sent_breaker"),
        (
            {"status": "503", "upstream_status": "", "upstream_addr": "", "limit_req_status": "REJECTED"},
            "not_sent_limit",
        ),
        ({"status": "503", "upstream_status": "503"}, "server_error"),
        ({"status": "429", "upstream_status": "429"}, "rate_limited"),
    ],
)
def test_what_nginx_did_itself_is_told_from_what_the_partner_answered(values: dict[str, str], outcome: str) -> None:
    empty = {"upstream_connect_time": "", "upstream_header_time": "", "upstream_response_time": ""}
    (row,) = nginx(**(empty if values["upstream_status"] == "" else {}) | values)
    assert row["outcome"] == outcome
