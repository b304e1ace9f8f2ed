"""AWS ALB access logs as a postback log: given these lines, those postbacks."""

from __future__ import annotations

from datetime import datetime

import pytest

from ingest.rows.split import Splitter
from tests.foreign_log import guessed, guide_sample, read, read_by_engine

URL = "https://t.example:443/api/v1/postback?oid=L-1&email=jane@example.net&ifa=IFA-SENTINEL"
ARN = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/t/1"
CREATED = "2026-09-14T11:00:00.138000Z"
TAIL = '"forward" "-" "-" "192.0.2.80:80" "200" "-" "-" TID_1'


def line(
    *,
    kind: str = "https",
    client: str = "192.0.2.9:2800",
    target: str = "192.0.2.80:80",
    times: str = "0.000 0.048 0.000",
    codes: str = "200 200",
    request: str = f"POST {URL} HTTP/1.1",
    agent: str = "Go-http-client/1.1",
    rest: str = f' "t.example" "session-reused" 1 {CREATED} {TAIL}',
) -> str:
    head = f"{kind} 2026-09-14T11:00:00.186641Z app/lb/50dc {client} {target} {times} {codes} 310 120"
    return f'{head} "{request}" "{agent}" - - {ARN} "Root=1-5"{rest}\n'


def test_a_line_is_a_postback() -> None:
    row = read("alb", line()).only
    assert row["ts"] == datetime(2026, 9, 14, 11, 0, 0, 138_000)
    assert (row["method"], row["endpoint"], row["external_order_id"]) == ("POST", "/api/v1/postback", "L-1")
    assert (row["http_status"], row["latency_ms"], row["outcome"]) == (200, 48.0, "accepted")
    assert (row["key_id"], row["retry_after_s"], row["limit"], row["conversion_id"]) == (None,) * 4


def test_the_status_is_the_balancers_and_no_dispatch_has_no_latency() -> None:
    row = read("alb", line(target="-", times="-1 -1 -1", codes="503 -")).only
    assert (row["http_status"], row["latency_ms"], row["outcome"]) == (503, None, "server_error")


@pytest.mark.parametrize(
    "times, latency",
    [("0.001 0.048 0.002", 51.0), ("0.000123 0.000456 0.000001", 0.58), ("0.001 -1 -1", None), ("0 0 0", 0.0)],
)
def test_latency_is_all_three_times_or_unknown(times: str, latency: float | None) -> None:
    assert read("alb", line(times=times)).only["latency_ms"] == latency


@pytest.mark.parametrize("kind", ["http", "https", "h2", "grpcs", "ws", "wss"])
@pytest.mark.parametrize("client", ["192.0.2.9:2800", "[2001:db8::7]:443", "2001:db8::7:443"])
def test_kinds_and_clients(kind: str, client: str) -> None:
    loaded = read("alb", line(kind=kind, client=client, request=URL.join(["GET ", " HTTP/2.0"])))
    assert loaded.only["endpoint"] == "/api/v1/postback"
    assert "2001:db8" not in loaded.kept()


def test_quotes_and_spaces_in_quoted_fields() -> None:
    agent = r"Mozilla/5.0 (X11; \"Linux\") \\"
    row = read("alb", line(agent=agent, request=r"GET https://t.example:443/p/a\"b?oid=1 HTTP/1.1")).only
    assert (row["endpoint"], row["external_order_id"]) == (r"/p/a\"b", "1")


def test_a_request_that_the_balancer_could_not_read_has_no_endpoint() -> None:
    row = read("alb", line(target="-", times="-1 -1 -1", codes="400 -", request="- http://t.example:80- -")).only
    assert (row["endpoint"], row["method"], row["outcome"]) == (None, None, "client_error")


@pytest.mark.parametrize(
    "query, order",
    [
        ("order_id=7&tid=8", "7"),
        ("tid=8&OrderID=7", "7"),
        ("transaction_id=T%2F1", "T/1"),
        ("oid=a+b", "a b"),
        ("oid=%FF", "%FF"),
        ("oid=&tid=8", "8"),
        ("android=5&x_oid=6", None),
        ("oid=007", "007"),
    ],
)
def test_order_ids(query: str, order: str | None) -> None:
    request = f"GET https://t.example:443/pb?{query} HTTP/1.1"
    assert read("alb", line(request=request)).only["external_order_id"] == order


def test_what_else_the_query_names() -> None:
    query = "key_id=k7&key=SECRET-A&api_key=SECRET-B&event=sale&click_id=c9&amount=12.5&currency=eur"
    loaded = read("alb", line(request=f"POST https://t.example:443/pb?{query} HTTP/1.1"))
    row = loaded.only
    assert (row["key_id"], row["event_type"], row["click_id"]) == ("k7", "sale", "c9")
    assert (str(row["amount"]), row["currency"]) == ("12.500000", "EUR")
    assert "SECRET" not in loaded.kept()


@pytest.mark.parametrize(
    "rest, ts",
    [
        ("", datetime(2026, 9, 14, 11, 0, 0, 138_641)),
        (' "t.example" "-"', datetime(2026, 9, 14, 11, 0, 0, 138_641)),
        (' "t.example" "-" 0', datetime(2026, 9, 14, 11, 0, 0, 138_641)),
        (f' "t.example" "-" - {CREATED}', datetime(2026, 9, 14, 11, 0, 0, 138_000)),
        (f' "t.example" "-" 1 {CREATED} {TAIL} "-" "/new path" "-" x', datetime(2026, 9, 14, 11, 0, 0, 138_000)),
    ],
)
def test_older_and_newer_versions(rest: str, ts: datetime) -> None:
    assert read("alb", line(rest=rest)).only["ts"] == ts


def test_the_time_of_an_older_line_without_processing_times_is_that_of_the_answer() -> None:
    row = read("alb", line(times="-1 -1 -1", rest="")).only
    assert row["ts"] == datetime(2026, 9, 14, 11, 0, 0, 186_641)


@pytest.mark.parametrize(
    "bad, reason",
    [
        (line(times="0.000 0.0x8 0.000"), "does not match at character 76: sending, target, answering as"),
        (line(codes="ok 200"), "does not match at character 94: status as"),
        (line()[:180] + "\n", 'as "(?P<request>'),
        (line()[:-40] + "\n", "goes on behind what matches"),
        (line(rest=' "t.example" "-" 1 2026-09-14T11:00'), "goes on behind what matches"),
        (line(codes="- -"), "postback: http_status is missing"),
    ],
)
def test_half_matching_lines_are_rejects_with_the_part(bad: str, reason: str) -> None:
    loaded = read("alb", line() + bad)
    assert (loaded.counts.facts, loaded.counts.rejects) == (1, 1)
    assert reason in loaded.reasons[0]


def test_personal_values_are_never_stored() -> None:
    planted = ["192.0.2.", "jane@example.net", "IFA-SENTINEL", "AGENT-SENTINEL"]
    good = line(agent="AGENT-SENTINEL")
    kept = read("alb", good + good[:200] + "\n" + good.replace("200 200", "- -")).kept()
    assert not [value for value in planted if value in kept]


def test_the_sample_of_the_guide() -> None:
    assert guessed(guide_sample("alb")) == "alb"
    row = read("alb", guide_sample("alb")).only
    assert (row["external_order_id"], row["http_status"], row["latency_ms"]) == ("A-2", 429, 48.0)


def test_recognition() -> None:
    assert guessed(line()) == "alb"
    assert guessed("torn line\n" + line(kind="h2", times="-1 -1 -1", codes="503 -", rest="")) == "alb"


def test_long_logs_stay_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    log = "".join(line(request=f"POST https://t.example:443/pb?oid={n} HTTP/1.1") for n in range(600))
    whole = read("alb", log)
    assert [row["external_order_id"] for row in whole.rows["postbacks"]] == [str(n) for n in range(600)]
    monkeypatch.setattr(Splitter, "split", None)
    assert read_by_engine("alb", log) == whole
