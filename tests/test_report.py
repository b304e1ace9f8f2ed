"""The weekly report: weeks in a zone, the week before beside each figure, cells that stay inert."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from dashboard import tables
from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.report import report_files, resolve_week, write_files
from dashboard.snapshot import Snapshot
from tests.loaded import Event, attempt, opened, postback

pytestmark = pytest.mark.slow

TOPICS = {
    "funnel", "partners", "retries", "flags", "no_bids", "breakers", "rate_limits", "postbacks", "data_quality"
}  # fmt: skip


def read(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def week_of_calls(day: str, count: int, partner: str = "p") -> list[Event]:
    return [attempt(f"{day}T12:00:{i:02d}Z", f"{day}-{i}", partner, latency_ms=100) for i in range(count)]


@pytest.fixture
def two_weeks(tmp_path: Path) -> Snapshot:
    """2026-W37 and 2026-W38: p grows from 2 calls to 5, old is gone, =new is new."""
    events = week_of_calls("2026-09-09", 2) + week_of_calls("2026-09-16", 5)
    events += week_of_calls("2026-09-10", 3, "old") + week_of_calls("2026-09-17", 1, "=new")
    events += [postback("2026-09-16T12:00:00Z", order="o")]
    return opened(tmp_path, events)


def test_every_topic_has_a_file(two_weeks: Snapshot) -> None:
    files = report_files(two_weeks, "2026-W38", "UTC")
    assert set(files) == {f"{topic}.csv" for topic in TOPICS}
    assert all(data.endswith(b"\n") and b"\r" not in data for data in files.values())


def test_each_figure_stands_beside_the_week_before(two_weeks: Snapshot) -> None:
    rows = {row["partner"]: row for row in read(report_files(two_weeks, "2026-W38", "UTC")["partners.csv"])}
    figures = {name: [rows[name][f"calls{end}"] for end in ("", "_previous", "_change")] for name in rows}
    assert figures == {"p": ["5", "2", "3"], "old": ["0", "3", "-3"], "'=new": ["1", "0", "1"], "k": ["1", "0", "1"]}
    assert rows["k"]["bid_attempts"] == rows["k"]["bid_attempts_previous"] == ""
    assert rows["p"]["actual_success_change"] == "0.0"


def test_numbers_are_those_of_the_tables(two_weeks: Snapshot) -> None:
    monday = 1_789_344_000_000_000
    filters = Filters(monday, monday + 7 * 86_400_000_000)
    want = [
        (row["funnel"], row["stage"], "" if row["count"] is None else str(row["count"]))
        for row in tables.rows(two_weeks, "funnel", filters)
    ]
    got = read(report_files(two_weeks, "2026-W38", "UTC")["funnel.csv"])
    assert [(row["funnel"], row["stage"], row["count"]) for row in got] == want


def test_before_the_data_the_week_before_is_unknown(two_weeks: Snapshot) -> None:
    rows = read(report_files(two_weeks, "2026-W37", "UTC")["partners.csv"])
    assert {row["calls_previous"] for row in rows} == {""}
    assert {row["calls_change"] for row in rows} == {""}


def test_the_default_is_the_last_week_that_ended(two_weeks: Snapshot) -> None:
    assert resolve_week(two_weeks, None, "UTC") == "2026-W37"


def test_without_a_whole_week_it_is_the_running_one(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, week_of_calls("2026-09-16", 1))
    assert resolve_week(snapshot, None, "UTC") == "2026-W38"


def test_a_week_begins_on_local_monday_whatever_the_clock_does(tmp_path: Path) -> None:
    # In Kyiv 2026-W43 ends with a day of 25 hours: from Sunday 18 Oct 21:00 UTC to Sunday 25 Oct 22:00 UTC.
    stamps = ["2026-10-18T20:59:59Z", "2026-10-18T21:00:00Z", "2026-10-25T21:59:59Z", "2026-10-25T22:00:00Z"]
    snapshot = opened(tmp_path, [attempt(stamp, f"A{i}") for i, stamp in enumerate(stamps)])

    def calls(week: str, zone: str) -> str:
        return read(report_files(snapshot, week, zone)["partners.csv"])[0]["calls"]

    assert [calls(week, "Europe/Kyiv") for week in ("2026-W42", "2026-W43", "2026-W44")] == ["1", "2", "1"]
    assert [calls(week, "UTC") for week in ("2026-W42", "2026-W43")] == ["2", "2"]


@pytest.mark.parametrize("week", ["2026-48", "2026-W54", "W48", "last", "2026-W00"])
def test_what_is_no_week_is_named(two_weeks: Snapshot, week: str) -> None:
    with pytest.raises(UserError, match=r"is no ISO week; write it as 2026-W48"):
        resolve_week(two_weeks, week, "UTC")


def test_weeks_have_one_form(two_weeks: Snapshot) -> None:
    assert resolve_week(two_weeks, "2026w38", "UTC") == "2026-W38"


def test_files_are_written_as_they_are(two_weeks: Snapshot, tmp_path: Path) -> None:
    files = report_files(two_weeks, "2026-W38", "UTC")
    paths = write_files(files, tmp_path / "new" / "folder")
    assert {path.name: path.read_bytes() for path in paths} == files


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be written .*--out"):
        write_files({"a.csv": b""}, tmp_path / "file")
