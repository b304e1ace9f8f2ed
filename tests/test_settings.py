"""Settings reach the reader at once, but for those that stored results were made with."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard import tables
from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.settings import ADDED, in_force
from dashboard.snapshot import open_snapshot
from ingest.errors import InputError
from ingest.load import ingest
from ingest.rebuild import rebuild
from ingest.settings import Breaker, load_settings

STORED = {"reserve_ms": "40", "flag_watch_retries": "10", "zone": "UTC", "price_unit": "cpm"}


def test_the_environment_wins_over_the_file_over_the_snapshot(tmp_path: Path) -> None:
    (tmp_path / "retrylens.toml").write_text("flag_watch_retries = 5\nzone = 'Europe/Kyiv'\n")
    told = in_force(tmp_path, STORED, ("reserve_ms",), {"RETRYLENS_FLAG_WATCH_RETRIES": "3"})
    assert told == ADDED | STORED | {"flag_watch_retries": "3", "zone": "Europe/Kyiv"}


def test_what_stored_results_were_made_with_stays_until_rebuild(tmp_path: Path) -> None:
    (tmp_path / "retrylens.toml").write_text("reserve_ms = 90\n")
    assert in_force(tmp_path, STORED, ("reserve_ms",), {})["reserve_ms"] == "40"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flag_wach_retries = 5\n", "unknown setting .*flag_watch_retries"),
        ("flag_watch_retries = 'few'\n", "takes a number"),
        ("flag_watch_retries = nan\n", "takes a number"),
        ("price_unit = 'cents'\n", "cpm or unit"),
        ("flag_watch_retries = \n", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "retrylens.toml").write_text(text)
    with pytest.raises(UserError, match=said):
        in_force(tmp_path, STORED, (), {})


def test_a_threshold_of_the_flags_holds_without_a_new_load(tmp_path: Path) -> None:
    lines = [
        f'{{"event":"attempt","ts":"2026-09-14T11:00:0{n}Z","auction_id":"a{n // 2}","partner":"p","http_status":503}}'
        for n in range(4)
    ]
    log = tmp_path / "a.jsonl"
    log.write_text("\n".join(lines) + "\n")
    warehouse = tmp_path / "warehouse"
    ingest([str(log)], warehouse)

    def verdicts() -> set[object]:
        return {row["verdict"] for row in tables.rows(open_snapshot(warehouse), "flags", Filters())}

    assert verdicts() == {"too_few"}
    (warehouse / "retrylens.toml").write_text("flag_watch_retries = 2\n")
    assert verdicts() == {"watch"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("breaker_window_s = 0\n", "breaker_window_s is 0.*from 0.001"),
        ("breaker_failure_share = 1.5\n", "breaker_failure_share is 1.5.* to 1$"),
        ("breaker_partners = 3\n", "takes a table for each partner"),
        ('[breaker_partners."p"]\nwindow = 3\n', r"unknown setting breaker_partners\.p\.window; known: window_s"),
        ('[breaker_partners."p"]\nopen_s = "long"\n', "takes a number"),
    ],
)
def test_a_wrong_breaker_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "retrylens.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        load_settings(tmp_path, {})


def test_a_partner_may_have_a_breaker_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "retrylens.toml").write_text('breaker_open_s = 5\n[breaker_partners."p"]\nmin_attempts = 3\n')
    settings = load_settings(tmp_path, {})
    assert settings.breaker("p") == Breaker(window_s=30, min_attempts=3, failure_share=0.5, open_s=5)
    assert settings.breaker("q") == Breaker(open_s=5)


@pytest.mark.slow
def test_a_new_breaker_asks_for_a_rebuild_and_then_holds(tmp_path: Path) -> None:
    """Four failures in a row open a breaker that needs three attempts, not the usual one."""
    lines = [
        f'{{"event":"attempt","ts":"2026-09-14T11:00:0{n}Z","auction_id":"a{n}","partner":"p","http_status":503}}'
        for n in range(4)
    ]
    log, warehouse = tmp_path / "a.jsonl", tmp_path / "warehouse"
    log.write_text("\n".join(lines) + "\n")
    ingest([str(log)], warehouse)

    def expected() -> list[object]:
        rows = tables.rows(open_snapshot(warehouse), "breakers", Filters())
        return [(row["state"], row["attempts"], row["blocked"]) for row in rows if row["kind"] == "expected"]

    assert expected() == [("closed", 4, 0)]
    (warehouse / "retrylens.toml").write_text('[breaker_partners."p"]\nmin_attempts = 3\n')
    with pytest.raises(InputError, match="rebuild"):
        ingest([str(log)], warehouse)
    rebuild(warehouse)
    assert expected() == [("closed", 3, 0), ("open", 1, 1)]
