"""What a person saves from a page: tables and the weekly zip with the bytes of the command line, charts as pictures."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Download, Locator, Page, expect

from tests.browser.site import REPOSITORY, Watch, settle, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVERY = ("--limit", "1000000")


def printed(warehouse: Path, *arguments: str) -> bytes:
    """What the command line writes to a pipe."""
    command = [sys.executable, "-m", "dashboard.cli", *arguments, "--warehouse", str(warehouse)]
    return subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True).stdout


def opened(page: Page, title: str) -> Locator:
    """What is behind the door of the panel with this title."""
    heading = page.get_by_role("heading", name=title, exact=True)
    panel = heading.locator("xpath=ancestor::*[.//button[contains(., 'Data · SQL')]][1]")
    panel.get_by_role("button", name="Data · SQL").click()
    body = page.locator("[data-testid=stPopoverBody]")
    expect(body).to_be_visible()
    return body


def saved(page: Page, link: Locator) -> tuple[str, bytes]:
    """Name and content of what a click saves."""
    with page.expect_download() as found:
        link.click()
    return content(found.value)


def content(download: Download) -> tuple[str, bytes]:
    return download.suggested_filename, Path(download.path()).read_bytes()


def test_a_table_is_saved_whole_as_the_command_line_writes_it(
    site: str, simulated_warehouse: Path, page: Page, watch: Watch
) -> None:
    visit(page, site, "partner?range=All&name=flakywire")
    door = opened(page, "Attempts")
    for kind in ("CSV", "Parquet"):
        name, file = saved(page, door.get_by_role("link", name=kind))
        options = ("--partner", "flakywire", *EVERY, "--format", kind.lower())
        assert name.startswith("attempts-")
        assert name.endswith(f".{kind.lower()}")
        assert file == printed(simulated_warehouse, "show", "attempts", *options)
    assert page.url.startswith(f"{site}/partner?")
    assert watch.errors == []


def test_two_people_get_their_own_rows_and_never_the_others(
    site: str, simulated_warehouse: Path, browser: Browser
) -> None:
    partners = ("flakywire", "plainbid")
    contexts = [browser.new_context(viewport={"width": 1440, "height": 900}) for _ in partners]
    files = {}
    for context, partner in zip(contexts, partners, strict=True):
        page = context.new_page()
        visit(page, site, f"partner?range=All&name={partner}")
        files[partner] = saved(page, opened(page, "Attempts").get_by_role("link", name="CSV"))
    for context in contexts:
        context.close()
    assert len({name for name, _ in files.values()}) == 2
    for partner, (_, file) in files.items():
        assert file == printed(simulated_warehouse, "show", "attempts", "--partner", partner, *EVERY, "--format", "csv")


def test_the_week_is_one_zip(site: str, simulated_warehouse: Path, page: Page, tmp_path: Path) -> None:
    visit(page, site, "data")
    name, file = saved(page, page.get_by_role("link", name="All topics as one zip"))
    week = name.removeprefix("retrylens-")[: len("2026-W38")]
    printed(simulated_warehouse, "report", "--week", week, "--zip", str(tmp_path / "week.zip"))
    assert file == (tmp_path / "week.zip").read_bytes()
    name, file = saved(page, page.get_by_role("link", name=f"{week}-funnel.csv"))
    printed(simulated_warehouse, "report", "--week", week, "--out", str(tmp_path / "week"))
    assert file == (tmp_path / "week" / "funnel.csv").read_bytes()


def test_a_chart_is_saved_as_png_and_as_svg(site: str, page: Page, watch: Watch) -> None:
    visit(page, site, "funnel?range=All")
    chart = page.locator("[data-testid=stPlotlyChart]").first
    name, file = save_picture(page, chart)
    assert (name, file[:8]) == ("funnel_call.png", b"\x89PNG\r\n\x1a\n")
    door = opened(page, "Call funnel · unit: call")
    for _ in range(2):  # a kind that is chosen stays so
        door.get_by_text("SVG", exact=True).click()
        settle(page)
    page.keyboard.press("Escape")
    name, file = save_picture(page, chart)
    assert name == "funnel_call.svg"
    assert file.startswith(b"<svg")
    assert "considered" in file.decode().lower()
    assert watch.errors == []
    assert watch.strangers == []


def test_a_picture_over_time_has_the_incidents_and_the_zone(site: str, page: Page) -> None:
    visit(page, site, "?range=All&zone=Europe%2FKyiv")
    opened(page, "How attempts ended").get_by_text("SVG", exact=True).click()
    settle(page)
    page.keyboard.press("Escape")
    _, file = save_picture(page, page.locator("[data-testid=stPlotlyChart]").first)
    picture = file.decode()
    assert "burst of 429" in picture
    assert "breaker open" in picture
    assert "Europe/Kyiv" in picture


def test_the_door_of_figures_opens_and_saves_what_they_come_from(site: str, page: Page, watch: Watch) -> None:
    visit(page, site, "?range=All")
    page.get_by_role("button", name="Data · SQL").first.click()
    body = page.locator("[data-testid=stPopoverBody]")
    expect(body.get_by_text("The tables from which these figures are taken")).to_be_visible()
    expect(body.locator("code").first).to_contain_text("select")
    name, file = saved(page, body.get_by_role("link", name="CSV").first)
    assert name.startswith("figures-")
    assert file.startswith(b"stream,")
    assert watch.errors == []


def save_picture(page: Page, chart: Locator) -> tuple[str, bytes]:
    """What the camera on a chart saves."""
    chart.hover()
    with page.expect_download() as found:
        chart.locator(".modebar-btn").click()
    return content(found.value)
