"""What a person does on the pages, in Chromium: filters, links, the SQL behind a chart, new data."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests import warehouses
from tests.browser.site import Watch, served, settle, visit
from tests.browser.test_causes import HEAD, ROW

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_filters_survive_reload_and_change_of_page(site: str, page: Page) -> None:
    visit(page, site, "retries?range=1h&partner=flakywire&zone=Europe/Kyiv")
    expect(page.get_by_text("(Europe/Kyiv)").first).to_be_visible()
    page.reload()
    settle(page)
    assert "range=1h" in page.url
    assert "partner=flakywire" in page.url
    page.locator(".st-key-navigation a", has_text="Funnel").click()
    expect(page.locator("h1").first).to_have_text("Funnel")
    settle(page)
    page.locator(".st-key-navigation a", has_text="Breakers").click()
    expect(page.locator("h1").first).to_have_text("Breakers")
    settle(page)
    query = parse_qs(urlsplit(page.url).query)
    assert query == {"range": ["1h"], "partner": ["flakywire"], "zone": ["Europe/Kyiv"]}


def test_bogus_filters_are_dropped(site: str, page: Page, watch: Watch) -> None:
    visit(page, site, "?range=yesterday&partner=nobody&zone=Mars&from=soon")
    expect(page.locator("h1").first).to_have_text("Overview")
    assert "yesterday" not in page.url
    assert "nobody" not in page.url
    assert watch.errors == []


def test_finding_leads_to_its_partner(site: str, page: Page) -> None:
    visit(page, site, "?range=All")
    page.locator("[data-testid=stMain] [data-testid=stPageLink] a", has_text="Open").first.click()
    expect(page.locator("h1").first).to_have_text("Partner")
    settle(page)
    assert "name=" in page.url


def test_chart_has_a_description_and_its_sql_one_click_away(site: str, page: Page) -> None:
    visit(page, site, "funnel?range=All")
    expect(
        page.locator("[data-testid=stPlotlyChart][aria-label*='call funnel'], [aria-label*='call funnel']").first
    ).to_be_attached()
    page.get_by_role("button", name="Data · SQL").first.click()
    expect(page.locator("[data-testid=stPopoverBody] code", has_text="from").first).to_be_visible()
    with page.expect_download() as download:
        page.locator("[data-testid=stPopoverBody] a", has_text="CSV").click()
    content = Path(download.value.path()).read_text(encoding="utf-8")
    assert content.startswith("funnel,position,stage,count,of_previous,of_first\ncall,1,considered,")


@pytest.mark.parametrize("door", [0, 1, -1], ids=["figures", "chart", "table"])
@pytest.mark.parametrize("key", ["", "Enter"], ids=["pointer", "keyboard"])
def test_an_open_door_does_not_keep_a_link_from_leading_on(
    site: str, page: Page, watch: Watch, key: str, door: int
) -> None:
    visit(page, site, "?range=All")
    page.get_by_role("button", name="Data · SQL").nth(door).click()
    expect(page.locator("[data-testid=stPopoverBody] code").first).to_be_visible()
    page.wait_for_timeout(900)
    link = page.locator(".st-key-navigation a", has_text="Funnel")
    link.press(key) if key else link.click()
    expect(page.locator("h1").first).to_have_text("Funnel")
    settle(page)
    expect(page.locator("[data-testid=stPlotlyChart]").first).to_be_visible()
    assert watch.errors == []


def test_new_snapshot_appears_by_itself_and_leaves_what_was_chosen(tmp_path: Path, page: Page) -> None:
    """An attempt comes that is newer than the chosen one, which then stands a row lower."""
    warehouse = warehouses.one_partner(tmp_path)
    with served(warehouse) as address:
        visit(page, address, "partner?range=All")
        expect(page.get_by_text("10:00:29").first).to_be_visible()
        grid = page.locator("[aria-label='Table of the newest attempts']").first
        grid.scroll_into_view_if_needed()
        page.wait_for_timeout(800)
        box = grid.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 12, box["y"] + HEAD + ROW / 2)
        link = page.locator("[data-testid=stMain] [data-testid=stPageLink] a", has_text="on its time budget")
        expect(link).to_contain_text("a-29")
        settle(page)
        seen_at = (grid.bounding_box() or box)["y"]
        later = [{"event": "attempt", "ts": "2026-09-14T11:30:00Z", "auction_id": "z", "partner": "calm"}]
        warehouses.command("ingest", warehouses.write(tmp_path / "later.jsonl", later), "--warehouse", warehouse)
        expect(page.get_by_text("11:30:00").first).to_be_attached()
        settle(page)
        expect(link).to_contain_text("a-29")
        assert abs((grid.bounding_box() or box)["y"] - seen_at) < ROW, "what was looked at went out of sight"
        assert "range=All" in page.url
