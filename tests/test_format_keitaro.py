"""Keitaro's log of received postbacks: given these lines, those postbacks."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from ingest.rows.split import Splitter
from tests.foreign_log import guessed, guide_sample, read, read_by_engine

KYIV = "Europe/Kyiv"
QUERY = "subid=2f8a1kq&tid=K-1&status=sale&payout=12.5&currency=usd"


def line(query: str = f"?{QUERY}", *, time: str = "2026-09-14 14:00:00", path: str = "/5ec4e7/postback") -> str:
    return f"{time} {path}{query}\n"


def test_a_line_is_a_postback_without_a_status() -> None:
    row = read("keitaro", line(), KYIV).only
    assert row["ts"] == datetime(2026, 9, 14, 11)
    assert (row["external_order_id"], row["click_id"], row["event_type"]) == ("K-1", "2f8a1kq", "sale")
    assert (row["amount"], row["currency"]) == (Decimal("12.5"), "USD")
    assert (row["http_status"], row["outcome"]) == (None, "answered_unknown")
    assert (row["key_id"], row["latency_ms"], row["retry_after_s"], row["method"]) == (None,) * 4


def test_a_payout_of_nothing_is_no_unknown_payout() -> None:
    loaded = read("keitaro", line("?subid=a&payout=0") + line("?subid=a") + line("?subid=a&payout="), KYIV)
    assert [row["amount"] for row in loaded.rows["postbacks"]] == [Decimal(0), None, None]
    assert not loaded.counts.mended


def test_missing_parameters_are_unknown() -> None:
    loaded = read("keitaro", line("") + line("?") + line("?tid=7"), KYIV)
    assert loaded.counts.facts == 3
    assert [row["external_order_id"] for row in loaded.rows["postbacks"]] == [None, None, "7"]
    assert {row["event_type"] for row in loaded.rows["postbacks"]} == {None}


@pytest.mark.parametrize(
    "query, order, event",
    [
        ("?tid=K%2F1%20a&status=first+deposit", "K/1 a", "first deposit"),
        ("?tid=%C3%96-1&status=sale", "Ö-1", "sale"),
        ("?tid=%FF&status=%zz", "%FF", "%zz"),
        ("?sub_tid=1&sale_status=x&tid=007", "007", None),
        ("?status=rejected&tid=a%26tid%3Db", "a&tid=b", "rejected"),
    ],
)
def test_encoded_values(query: str, order: str, event: str | None) -> None:
    row = read("keitaro", line(query), KYIV).only
    assert (row["external_order_id"], row["event_type"]) == (order, event)


def test_older_names_and_shapes() -> None:
    text = "[2026-09-14 14:00:00] GET https://track.example/5ec4e7/postback?sub_id=a&revenue=3&tid=1\n"
    row = read("keitaro", text, KYIV).only
    assert (row["method"], row["endpoint"], row["click_id"], row["amount"]) == ("GET", "/postback", "a", Decimal(3))


def test_a_payout_that_is_no_number_is_mended() -> None:
    loaded = read("keitaro", line("?tid=1&payout={payout}"), KYIV)
    assert (loaded.only["amount"], dict(loaded.counts.mended)) == (None, {"amount": 1})


@pytest.mark.parametrize(
    "time, ts",
    [
        ("2026-03-29 02:59:59", datetime(2026, 3, 29, 0, 59, 59)),
        ("2026-03-29 03:30:00", datetime(2026, 3, 29, 1, 30)),
        ("2026-03-29 04:00:00", datetime(2026, 3, 29, 1)),
        ("2026-10-25 03:30:00", datetime(2026, 10, 25, 0, 30)),
        ("2026-10-25 04:00:00", datetime(2026, 10, 25, 2)),
        ("2026-10-25 03:30:00+02:00", datetime(2026, 10, 25, 1, 30)),
    ],
)
def test_local_times_at_clock_changes(time: str, ts: datetime) -> None:
    """A time that a change skips is counted on from it; one that comes twice is the first of both."""
    assert read("keitaro", line(time=time), KYIV).only["ts"] == ts


def test_local_times_need_a_zone() -> None:
    loaded = read("keitaro", line())
    assert loaded.reasons == ["postback: ts has no offset: give the zone of the log with --zone"]


@pytest.mark.parametrize(
    "bad, reason",
    [
        ("14.09.2026 14:00 /5ec4e7/postback?tid=1\n", "does not match at character 1: time as"),
        ("2026-09-14 14:00:00 /5ec4e7/clicks?tid=1\n", "does not match at character 21: path as"),
        ("2026-09-14 14:00:00 /5ec4e7/postback?tid=1 torn off\n", "goes on behind what matches, at character 43"),
        ("2026-13-14 14:00:00 /5ec4e7/postback?tid=1\n", "postback: ts is an impossible date"),
    ],
)
def test_half_matching_lines_are_rejects_with_the_part(bad: str, reason: str) -> None:
    loaded = read("keitaro", line() + bad, KYIV)
    assert (loaded.counts.facts, loaded.counts.rejects) == (1, 1)
    assert loaded.reasons[0].startswith(reason)


def test_personal_values_and_the_secret_path_are_never_stored() -> None:
    planted = "&ip=192.0.2.9&email=jane@example.net&sub_id_1=USER-SENTINEL&phone=380000000000"
    log = (
        line(f"?{QUERY}{planted}")
        + line(f"?{QUERY}{planted} x")
        + line(f"?{QUERY}{planted}", time="2026-02-30 14:00:00")
    )
    loaded = read("keitaro", log, KYIV)
    assert (loaded.counts.facts, loaded.counts.rejects) == (1, 2)
    assert not [value for value in ["192.0.2", "jane", "SENTINEL", "38000", "5ec4e7"] if value in loaded.kept()]


def test_the_sample_of_the_guide() -> None:
    assert guessed(guide_sample("keitaro")) == "keitaro"
    row = read("keitaro", guide_sample("keitaro"), KYIV).only
    assert (row["external_order_id"], row["event_type"]) == ("A-1", "sale")


def test_recognition() -> None:
    assert guessed(line()) == "keitaro"
    assert guessed("\n" + line("?subid=a").rstrip("\n") + "\r\n") == "keitaro"


def test_long_logs_stay_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    log = "".join(line(f"?subid=a&tid={n}&status=lead&payout=1") for n in range(600))
    whole = read("keitaro", log, KYIV)
    assert [row["external_order_id"] for row in whole.rows["postbacks"]] == [str(n) for n in range(600)]
    monkeypatch.setattr(Splitter, "split", None)
    assert read_by_engine("keitaro", log, KYIV) == whole
