"""A drag across a chart over time sets the range of every page; a button takes it back."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.site import Watch, settle, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def drag(page: Page, panel: str, first: float, last: float) -> None:
    """Drags across a chart between two parts of its width, and waits until the page is drawn anew."""
    area = page.locator(f"[class*='st-key-chart_{panel}'] .nsewdrag").first
    area.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    box = area.bounding_box()
    assert box is not None
    height = box["y"] + box["height"] * 0.6
    page.mouse.move(box["x"] + box["width"] * first, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (first + last) / 2, height, steps=5)
    page.mouse.move(box["x"] + box["width"] * last, height, steps=5)
    page.mouse.up()
    page.wait_for_timeout(1_000)
    settle(page)


def range_of(page: Page) -> tuple[str, str]:
    """From and to, as the address tells them."""
    asked = parse_qs(urlsplit(page.url).query)
    return asked["from"][0], asked["to"][0]


def test_a_drag_sets_the_range_of_this_and_other_pages_and_goes_back(site: str, page: Page, watch: Watch) -> None:
    visit(page, site, "?range=All")
    drag(page, "outcome_groups", 0.25, 0.5)
    begin, end = range_of(page)
    assert "range=Custom" in page.url
    assert "2026-09-14T10:" in begin
    assert begin < end
    expect(page.get_by_role("combobox", name="Time range").first).to_be_attached()
    expect(page.get_by_text("Compared with").first).to_be_visible()
    drag(page, "outcome_groups", 0.3, 0.6)
    inner = range_of(page)
    assert begin <= inner[0] < inner[1] <= end
    page.locator("[class*='st-key-navigation'] a", has_text="Rate limits").click()
    expect(page.locator("h1").first).to_have_text("Rate limits and postbacks")
    settle(page)
    assert range_of(page) == inner
    page.get_by_role("button", name="Back to 2026").click()
    page.wait_for_timeout(1_000)
    settle(page)
    assert range_of(page) == (begin, end)
    page.get_by_role("button", name="Back to All").click()
    page.wait_for_timeout(1_000)
    settle(page)
    assert "range=All" in page.url
    assert page.get_by_role("button", name="Back to").count() == 0
    drag(page, "limit_time", 0.2, 0.7)
    again = range_of(page)
    page.reload()
    settle(page)
    assert range_of(page) == again
    assert watch.errors == []
    assert watch.strangers == []


def test_a_selection_draws_the_page_once(site: str, page: Page) -> None:
    visit(page, site, "?range=All")
    page.evaluate(
        """() => { window.starts = 0;
        new MutationObserver(() => {
            const state = document.querySelector('[data-testid=stApp]').dataset.testScriptState;
            if (state === 'running' && window.last !== state) window.starts += 1;
            window.last = state;
        }).observe(document.querySelector('[data-testid=stApp]'), {attributes: true}); }"""
    )
    drag(page, "outcome_groups", 0.25, 0.5)
    page.wait_for_timeout(3_000)
    assert page.evaluate("window.starts") == 1


def test_on_a_phone_a_chart_takes_no_drag(site: str, browser: Browser) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        user_agent="Mozilla/5.0 (Linux; Android 14) Mobile",
        has_touch=True,
        is_mobile=True,
    )
    phone = context.new_page()
    visit(phone, site, "?range=All")
    area = phone.locator("[class*='st-key-chart_outcome_groups'] .nsewdrag").first
    expect(area).to_be_attached()
    assert "cursor-crosshair" not in (area.get_attribute("class") or "")
    context.close()
