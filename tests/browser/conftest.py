"""Served warehouses and a browser, once a run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import warehouses
from tests.browser.site import PATIENCE_MS, Watch, launch, served
from tests.shown import load_shown, proxied, unanswered

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
def site_of(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Gives the address where a kind of warehouse is served, once a run."""
    made = {
        "empty": warehouses.empty,
        "one": warehouses.one_partner,
        "fifty": warehouses.fifty,
        "unknown": unknown_columns,
        "hostile": warehouses.hostile,
    }
    with ExitStack() as running:
        addresses = {"default": site}

        def address(kind: str) -> str:
            if kind not in addresses:
                addresses[kind] = running.enter_context(served(made[kind](tmp_path_factory.mktemp(kind))))
            return addresses[kind]

        yield address


def unknown_columns(folder: Path) -> Path:
    """Calls that hide their attempts, postbacks without status or key."""
    return load_shown(folder, [*proxied(), *unanswered()])


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def watch(page: Page) -> Watch:
    return Watch().follow(page)
