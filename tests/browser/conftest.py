"""Served warehouses and a browser, once a run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import warehouses
from tests.browser.site import PATIENCE_MS, Watch, launch, served

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = launch(playwright, chromium_path)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def simulated_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouses.simulated(tmp_path_factory.mktemp("simulated"))


@pytest.fixture(scope="session")
def site(simulated_warehouse: Path) -> Iterator[str]:
    with served(simulated_warehouse) as address:
        yield address


@pytest.fixture(scope="session")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(warehouses.hostile(tmp_path_factory.mktemp("hostile"))) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def watch(page: Page) -> Watch:
    return Watch().follow(page)
