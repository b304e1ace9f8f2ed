"""AppsFlyer postback reports: given these rows, those postbacks."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from decimal import Decimal

import pytest

from ingest.rows.split import Splitter
from tests.foreign_log import guessed, guide_sample, read, read_by_engine

KYIV = "Europe/Kyiv"
ROW = {
    "Attributed Touch Time": "2026-09-14 13:00:00",
    "Install Time": "2026-09-14 13:05:00",
    "Event Time": "2026-09-14 14:00:00",
    "Event Name": "af_purchase",
    "Event Value": '{"af_order_id":"F-1"}',
    "Event Revenue": "12.50",
    "Event Revenue Currency": "USD",
    "Media Source": "partner_int",
    "AppsFlyer ID": "1700000000-1",
    "IP": "192.0.2.9",
    "IDFA": "IFA-SENTINEL",
    "Postback URL": "https://t.example/pb?oid=F-9&ifa=IFA-SENTINEL",
    "Postback Method": "GET",
    "Postback HTTP Response Code": "200",
    "Postback Error Message": "",
}


def report(*rows: dict[str, str], header: list[str] | None = None) -> str:
    """A report with a byte order mark and CRLF; each row is `ROW` with other values."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, header or list(ROW), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(ROW | row for row in rows)
    return "\ufeff" + file.getvalue()


def test_a_row_is_a_postback() -> None:
    row = read("appsflyer", report({}), KYIV).only
    assert row["ts"] == datetime(2026, 9, 14, 11)
    assert (row["key_id"], row["event_type"], row["external_order_id"]) == ("partner_int", "af_purchase", "F-1")
    assert (row["method"], row["endpoint"], row["http_status"], row["outcome"]) == ("GET", "/pb", 200, "accepted")
    assert (row["amount"], row["currency"]) == (Decimal("12.5"), "USD")
    assert (row["retry_after_s"], row["limit"], row["window_s"], row["latency_ms"]) == (None,) * 4


def test_columns_in_another_order() -> None:
    straight, turned = (read("appsflyer", report({}, header=names), KYIV) for names in (list(ROW), list(ROW)[::-1]))
    assert straight.rows == turned.rows


def test_another_spelling_of_the_code() -> None:
    names = [name.replace("HTTP", "Http") for name in ROW]
    text = report({"Postback Http Response Code": "404"}, header=names)
    assert guessed(text) == "appsflyer"
    assert read("appsflyer", text, KYIV).only["http_status"] == 404


def test_commas_quotes_and_line_ends_in_quoted_cells() -> None:
    value = json.dumps({"af_content": 'a, "b"\n', "af_order_id": "F,1"}, indent=1)
    loaded = read("appsflyer", report({"Event Value": value, "Postback Error Message": "busy, try again"}, {}), KYIV)
    assert [row["external_order_id"] for row in loaded.rows["postbacks"]] == ["F,1", "F-1"]


@pytest.mark.parametrize(
    "value, order",
    [
        ('{"order_id":"7"}', "7"),
        ('{"tid":"8","af_order_id":"7"}', "7"),
        ('{"orderId":18446744073709551617}', "18446744073709551617"),
        ('{"transaction_id":"T-1","af_order_id":""}', "T-1"),
        ('{"af_order_id":["7"]}', "F-9"),
        ('{"af_order_id":null}', "F-9"),
        ('{"af_order_id":"7"', "F-9"),
        ("", "F-9"),
    ],
)
def test_order_ids_of_the_value_else_of_the_postback(value: str, order: str) -> None:
    assert read("appsflyer", report({"Event Value": value}), KYIV).only["external_order_id"] == order


def test_no_order_id() -> None:
    row = read("appsflyer", report({"Event Value": "{}", "Postback URL": "https://t.example/pb"}), KYIV).only
    assert (row["external_order_id"], row["endpoint"]) == (None, "/pb")


def test_missing_revenue_is_unknown_and_nothing_is_nothing() -> None:
    loaded = read("appsflyer", report({"Event Revenue": ""}, {"Event Revenue": "0"}), KYIV)
    assert [row["amount"] for row in loaded.rows["postbacks"]] == [None, Decimal(0)]


@pytest.mark.parametrize(
    "message, code",
    [("POSTBACK_REPLAY", "POSTBACK_REPLAY"), ("server error for jane@example.net", None), ("ERROR", None)],
)
def test_an_error_is_kept_where_it_is_a_code(message: str, code: str | None) -> None:
    row = read(
        "appsflyer", report({"Postback Error Message": message, "Postback HTTP Response Code": "409"}), KYIV
    ).only
    assert row["error_code"] == code


@pytest.mark.parametrize(
    "time, ts",
    [
        ("2026-03-29 03:30:00", datetime(2026, 3, 29, 1, 30)),
        ("2026-10-25 03:30:00", datetime(2026, 10, 25, 0, 30)),
        ("2026-10-25 04:00:00.5", datetime(2026, 10, 25, 2, 0, 0, 500_000)),
        ("", datetime(2026, 9, 14, 10, 5)),
    ],
)
def test_local_times_at_clock_changes(time: str, ts: datetime) -> None:
    """A time that a change skips is counted on from it; of two the first counts; without one, that of the install."""
    assert read("appsflyer", report({"Event Time": time}), KYIV).only["ts"] == ts


@pytest.mark.parametrize(
    "values, reason",
    [
        ({"Postback HTTP Response Code": ""}, "postback: http_status is missing"),
        ({"Postback HTTP Response Code": "timeout"}, "postback: http_status is no number"),
        ({"Event Time": "14/09/2026"}, "postback: ts is no RFC 3339 time and no epoch number"),
    ],
)
def test_rows_that_do_not_fit_are_rejects_with_the_part(values: dict[str, str], reason: str) -> None:
    loaded = read("appsflyer", report({}, values), KYIV)
    assert (loaded.counts.facts, loaded.reasons) == (1, [reason])


def test_short_rows_are_rejects_and_times_need_a_zone() -> None:
    assert read("appsflyer", report({}) + "2026-09-14 13:00:00,2026\r\n", KYIV).counts.rejects == 1
    assert read("appsflyer", report({})).reasons == ["postback: ts has no offset: give the zone of the log with --zone"]


def test_personal_values_are_never_stored() -> None:
    values = {
        "Event Value": '{"af_order_id":"1","email":"jane@example.net"}',
        "Postback Error Message": "no jane@example.net",
    }
    loaded = read("appsflyer", report(values, values | {"Postback HTTP Response Code": ""}), KYIV)
    assert (loaded.counts.facts, loaded.counts.rejects) == (1, 1)
    assert not [value for value in ["192.0.2", "jane", "SENTINEL", "1700000000"] if value in loaded.kept()]


def test_the_sample_of_the_guide() -> None:
    assert guessed(guide_sample("appsflyer")) == "appsflyer"
    row = read("appsflyer", guide_sample("appsflyer"), KYIV).only
    assert (row["external_order_id"], row["http_status"], row["endpoint"]) == ("A-2", 500, "/in")


def test_recognition() -> None:
    assert guessed(report({})) == "appsflyer"


def test_long_reports_stay_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    text = report(*({"Event Value": json.dumps({"af_order_id": str(n)})} for n in range(600)))
    whole = read("appsflyer", text, KYIV)
    assert [row["external_order_id"] for row in whole.rows["postbacks"]] == [str(n) for n in range(600)]
    monkeypatch.setattr(Splitter, "split", None)
    assert read_by_engine("appsflyer", text, KYIV) == whole
