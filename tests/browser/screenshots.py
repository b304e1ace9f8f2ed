"""Screenshots of every page in both themes, from a phone to a wide screen.

python -m tests.browser.screenshots [WAREHOUSE] [--out FOLDER] [--readme FILE]
"""

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.site import PAGES, REPOSITORY, launch, served, settle, visit
from tests.conftest import find_chromium

FOLDER = REPOSITORY / "artifacts" / "screenshots"
WIDTHS = (390, 768, 1440, 1920)
THEMES = ("light", "dark")
HEIGHT = 900
TALLEST = 8_000


def shoot(browser: Browser, address: str, page_name: str, theme: str, width: int, target: Path, *, whole: bool) -> None:
    """One page as a PNG; `whole` takes all of it, else what fits the first screen."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT}, color_scheme="dark" if theme == "dark" else "light"
    )
    try:
        page = context.new_page()
        visit(page, address, PAGES[page_name])
        if whole:
            inner = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
            page.set_viewport_size({"width": width, "height": min(int(inner) + 20, TALLEST)})
            page.wait_for_timeout(700)
            settle(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=target)
    finally:
        context.close()


def shoot_all(browser: Browser, address: str, folder: Path, pages: Sequence[str] = tuple(PAGES)) -> list[Path]:
    """Every page, theme and width into the folder."""
    taken = []
    for name, theme, width in product(pages, THEMES, WIDTHS):
        target = folder / f"{name}-{theme}-{width}.png"
        shoot(browser, address, name, theme, width, target, whole=True)
        taken.append(target)
    return taken


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warehouse", nargs="?", type=Path, default=REPOSITORY / "warehouse-demo")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--readme", type=Path, help="write only the picture for the README to this file")
    parser.add_argument("--pages", nargs="*", choices=list(PAGES), default=list(PAGES))
    given = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        parser.error("no Chromium found: apt-get install chromium")
    with served(given.warehouse) as address, sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        if given.readme is not None:
            shoot(browser, address, "overview", "light", 1440, given.readme, whole=False)
            print(given.readme)
        else:
            for path in shoot_all(browser, address, given.out, given.pages):
                print(path)
        browser.close()


if __name__ == "__main__":
    main()
