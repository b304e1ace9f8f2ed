"""From a question to its cause by links alone: overview, partner, attempt, auction; and key, postback, order."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Watch, settle, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROW, HEAD, CELL = 35, 35, 60
"""Pixels of a table's rows, of its head, and to the middle of its first column behind the marks of the rows."""


def open_first(page: Page, table: str) -> Page:
    """Follows the link in the first row of a table, which opens beside."""
    grid = page.locator(f"[aria-label='{table}']").first
    grid.scroll_into_view_if_needed()
    page.wait_for_timeout(800)
    box = grid.bounding_box()
    assert box is not None
    with page.context.expect_page() as opened:
        page.mouse.move(box["x"] + CELL, box["y"] + HEAD + ROW / 2)
        page.wait_for_timeout(300)
        page.mouse.click(box["x"] + CELL, box["y"] + HEAD + ROW / 2)
    opened.value.wait_for_load_state()
    settle(opened.value)
    return opened.value


def test_overview_leads_to_the_auction_behind_a_finding(site: str, page: Page, watch: Watch) -> None:
    visit(page, site, "?range=7d&zone=Europe/Kyiv")
    page.locator("[data-testid=stMain] [data-testid=stPageLink] a", has_text="Open").first.click()
    expect(page.locator("h1").first).to_have_text("Partner")
    settle(page)
    auction = open_first(page, "Table of the newest attempts")
    expect(auction.locator("h1").first).to_have_text("Auction")
    for part in ("auction?auction=", "range=7d", "zone=Europe"):
        assert part in auction.url
    expect(auction.locator("[aria-label^='Waterfall of']").first).to_be_attached()
    expect(auction.get_by_text("(Europe/Kyiv)").first).to_be_visible()
    auction.reload()
    settle(auction)
    expect(auction.locator("[aria-label^='Waterfall of']").first).to_be_attached()
    assert watch.errors == []
    assert watch.strangers == []


def test_key_leads_to_an_order_and_its_waits(site: str, page: Page) -> None:
    visit(page, site, "partner?range=All&name=key-hammer")
    order = open_first(page, "Table of the newest postbacks")
    expect(order.locator("h1").first).to_have_text("Order")
    assert "order=ord-" in order.url
    expect(order.locator("[aria-label^='Timeline of']").first).to_be_attached()
    order.get_by_text("Everything about key-hammer").click()
    expect(order.locator("h1").first).to_have_text("Partner")
    settle(order)
    assert "range=All" in order.url


def test_row_leads_to_the_auction_and_back(site: str, page: Page) -> None:
    visit(page, site, "partner?range=All&name=flakywire")
    grid = page.locator("[aria-label='Table of the newest attempts']").first
    grid.scroll_into_view_if_needed()
    page.wait_for_timeout(800)
    box = grid.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 12, box["y"] + HEAD + ROW / 2)
    page.locator("[data-testid=stMain] [data-testid=stPageLink] a", has_text="on its time budget").click()
    expect(page.locator("h1").first).to_have_text("Auction")
    settle(page)
    assert "range=All" in page.url
    page.go_back()
    expect(page.locator("h1").first).to_have_text("Partner")
    settle(page)
    assert "name=flakywire" in page.url


def test_an_id_typed_by_hand_is_kept_in_the_address(site: str, page: Page) -> None:
    visit(page, site, "auction")
    box = page.get_by_label("Auction id")
    box.fill("nowhere")
    box.press("Enter")
    expect(page.get_by_text("no attempt and no event of an auction nowhere")).to_be_visible()
    settle(page)
    assert "auction=nowhere" in page.url


def test_navigation_does_not_list_pages_of_one_thing(site: str, page: Page) -> None:
    visit(page, site, "auction")
    names = page.locator(".st-key-navigation a").all_inner_texts()
    assert "Partner" in " ".join(names)
    assert not {"Auction", "Order"} & {name.strip() for name in names}
