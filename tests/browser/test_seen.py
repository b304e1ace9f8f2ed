"""Every page as it is seen, of six kinds of data, in both themes and on a phone; screenshots lie in artifacts/."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from dashboard import texts
from dashboard.escape import plain
from tests.browser.screenshots import FOLDER
from tests.browser.site import PAGES, Watch, darken, settle, visit
from tests.warehouses import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KINDS = ("default", "empty", "one", "fifty", "unknown", "hostile")
WIDE, PHONE, HEIGHT = 1440, 390, 2_600
WIDER_THAN_SCREEN = (
    "() => document.querySelector('[data-testid=stMain]').scrollWidth"
    " - document.querySelector('[data-testid=stMain]').clientWidth"
)
FOREIGN = (
    "() => [...document.querySelectorAll('a[href], img[src]')].map(one => new URL(one.href || one.src))"
    ".filter(url => url.host !== location.host && url.protocol !== 'data:').map(String)"
)
"""Links and pictures that lead elsewhere, or run something."""

CUT = (
    "() => [...document.querySelectorAll('[data-testid=stMetricLabel] p, [data-testid=stMetricDelta] p')]"
    ".filter(text => getComputedStyle(text).overflow === 'hidden' && text.scrollWidth > text.clientWidth"
    " || text.getBoundingClientRect().right > text.closest('[data-testid=stMetric]').getBoundingClientRect().right)"
    ".map(text => text.innerText)"
)
"""Names of figures, and what is said of them, of which a part is not seen."""

SAID = {
    "default": "Newest event 2026",
    "empty": "holds no events yet",
    "one": "Newest event 2026-09-14 10:00:29",
    "fifty": "Newest event 2026",
    "unknown": "unknown",
    "hostile": "Newest event 2026",
}
"""What a page of such data says in any case."""

OF_ONE_THING = ("auction", "order")
"""Pages that only ask which one, until they are told."""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_page_as_seen_with_screenshots(
    site_of: Callable[[str], str], page: Page, watch: Watch, kind: str, name: str
) -> None:
    page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    visit(page, site_of(kind), f"{PAGES[name]}?range=All")
    expect(page.locator("h1").first).to_have_text(texts.tell(f"{name}.title"))
    if kind != "unknown" or name not in (*OF_ONE_THING, "data"):
        expect(page.locator("[data-testid=stMain]")).to_contain_text(SAID[kind])
    check(page, watch, FOLDER / kind / f"{name}-light-{WIDE}.png")
    darken(page)
    check(page, watch, FOLDER / kind / f"{name}-dark-{WIDE}.png")
    page.set_viewport_size({"width": PHONE, "height": HEIGHT})
    settle(page)
    check(page, watch, FOLDER / kind / f"{name}-dark-{PHONE}.png")


def check(page: Page, watch: Watch, target: Path) -> None:
    """Nothing failed, was fetched from elsewhere or is wider than the screen; what is seen is kept as a picture."""
    target.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=target)
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.evaluate(WIDER_THAN_SCREEN) <= 0
    assert page.evaluate(FOREIGN) == []
    assert page.evaluate(CUT) == []
    assert page.locator(".katex").count() == 0
    assert watch.errors == []
    assert watch.strangers == []


def test_names_are_read_as_they_were_written(site_of: Callable[[str], str], page: Page, watch: Watch) -> None:
    visit(page, site_of("hostile"), "?range=All")
    page.locator("[data-testid=stExpander] summary", has_text="more").first.click()
    expect(page.get_by_text("drop table attempts").first).to_be_visible()
    settle(page)
    seen = page.locator("[data-testid=stMain]").inner_text().replace("\u2060", "")
    assert [name for name in HOSTILE if f"{plain(name)}: breaker open" not in seen] == []
    assert watch.errors == []
