"""Every page for everybody: axe finds nothing serious in either theme at any width, and the keyboard alone will do."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.screenshots import HEIGHT, THEMES, WIDTHS
from tests.browser.site import PAGES, darken, settle, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ENDS = (390, 1440)
"""A phone's width and a desk's."""

GRAVE = ("serious", "critical")

ONLY_FAULTS = {"resultTypes": ["violations"], "selectors": False}
"""Nothing is written of what passed, which takes axe twice the time of the finding."""


def grave(page: Page) -> list[str]:
    """What axe finds serious or critical on the page as it stands: rule, element, why."""
    found = Axe().run(page, options=ONLY_FAULTS).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(site: str, page: Page, name: str) -> None:
    visit(page, site, f"{PAGES[name]}?range=All")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        settle(page)
        assert grave(page) == [], f"{name} at {width} px, light"
    darken(page)
    for width in ENDS:  # what a theme changes are colours: they are the same at each width
        page.set_viewport_size({"width": width, "height": HEIGHT})
        settle(page)
        assert grave(page) == [], f"{name} at {width} px, dark"


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


MOST_STEPS = 400
FOCUS = """() => {
    const shows = s => s.boxShadow !== 'none' || (s.outlineStyle !== 'none' && s.outlineWidth !== '0px');
    const here = document.activeElement;
    const frame = here.closest('[data-testid=stDataFrame]') ?? here;
    return {
        tag: here.tagName,
        seen: shows(getComputedStyle(frame)),
        table: here.closest('[aria-label^=Table]')?.getAttribute('aria-label') ?? '',
        text: ['A', 'BUTTON'].includes(here.tagName) ? here.innerText : '',
        inside: here.closest('[data-testid=stPopoverBody]') !== null,
    };
}"""


def step_to(page: Page, text: str = "", *, table: str = "") -> None:
    """Presses Tab until the focus is on a control that says this, or in that table; each link and button shows it."""
    for _ in range(MOST_STEPS):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        assert focus["seen"] or focus["tag"] in ("INPUT", "TEXTAREA", "BODY", "DIV", "LABEL"), focus
        if (text and text in focus["text"]) if not table else focus["table"] == table:
            return
    raise AssertionError(f"the keyboard does not reach {text or table}")


def test_keyboard_alone_leads_from_the_overview_to_one_auction(site: str, page: Page) -> None:
    visit(page, site, "?range=7d")
    step_to(page, "Open ")
    page.keyboard.press("Enter")
    expect(page.locator("h1").first).to_have_text("Partner")
    settle(page)
    page.wait_for_timeout(1_500)
    step_to(page, table="Table of the newest attempts")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    expect(page.get_by_text("on its time budget").last).to_be_visible()
    settle(page)
    step_to(page, "on its time budget")
    page.keyboard.press("Enter")
    expect(page.locator("h1").first).to_have_text("Auction")
    settle(page)
    assert "auction=" in page.url
    assert "range=7d" in page.url
    expect(page.locator("[aria-label^='Waterfall of']").first).to_be_attached()


def test_keyboard_alone_opens_the_numbers_of_a_chart(site: str, page: Page) -> None:
    visit(page, site, "funnel?range=All")
    step_to(page, "Data · SQL")
    page.keyboard.press("Enter")
    expect(page.locator("[data-testid=stPopoverBody] [data-testid=stDataFrame]")).to_be_visible()
    step_to(page, "CSV")
    assert page.evaluate(FOCUS)["inside"]
    page.keyboard.press("Escape")
    expect(page.locator("[data-testid=stPopoverBody]")).to_have_count(0)
    assert "Data · SQL" in page.evaluate(FOCUS)["text"]


def test_skip_link_leads_past_the_navigation(site: str, page: Page) -> None:
    visit(page, site, "funnel")
    page.keyboard.press("Tab")
    assert "Skip to main content" in page.evaluate(FOCUS)["text"]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.testid") == "stMain"
