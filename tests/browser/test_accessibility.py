"""Every page for everybody: axe finds nothing serious in either theme at any width, and the keyboard alone will do."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.screenshots import HEIGHT, THEMES, WIDTHS
from tests.browser.site import PAGES, settle, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GRAVE = ("serious", "critical")


def grave(page: Page) -> list[str]:
    """What axe finds serious or critical on the page as it stands: rule, element, why."""
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(site: str, page: Page, name: str, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    visit(page, site, f"{PAGES[name]}?range=All")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        settle(page)
        assert grave(page) == [], f"{name} at {width} px"


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_serious_behind_doors(site: str, page: Page, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    visit(page, site, "retries?range=All&partner=flakywire")
    page.get_by_role("button", name="Data · SQL").first.click()
    expect(page.locator("[data-testid=stPopoverBody] code").first).to_be_visible()
    page.wait_for_timeout(600)
    assert grave(page) == []
    page.keyboard.press("Escape")
    page.get_by_text("How to read it").click()
    page.wait_for_timeout(600)
    assert grave(page) == []


def test_axe_sees_what_it_should(site: str, page: Page) -> None:
    visit(page, site, "data")
    page.evaluate("document.querySelector('h1').insertAdjacentHTML('afterend', '<img src=data:,>')")
    assert [told.split(":")[0] for told in grave(page)] == ["image-alt"]
