"""Served warehouses and a browser, once a run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests import warehouses
from tests.browser.site import PATIENCE_MS, Watch, launch, launch_with_profile, served
from tests.shown import load_shown, proxied, unanswered

expect.set_options(timeout=PATIENCE_MS)

FORGET_ONCE = "sessionStorage.getItem('known') ?? (localStorage.clear(), sessionStorage.setItem('known', 'yes'))"
"""What pages left in the browser goes before the first of a tab, and stays for those after it."""


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright, chromium_path: str) -> Iterator[Browser]:
    """For tests that bring contexts of their own: other people, another language."""
    chromium = launch(playwright, chromium_path)
    yield chromium
    chromium.close()


@pytest.fixture(scope="session")
def profile(
    playwright: Playwright, chromium_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowserContext]:
    """One person's browser, which has read the scripts of the pages once: that is half the work of a view."""
    context = launch_with_profile(playwright, chromium_path, tmp_path_factory.mktemp("profile"))
    yield context
    context.close()


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
def page(profile: BrowserContext) -> Iterator[Page]:
    """A tab of its own, in which nothing is remembered of the tests before."""
    profile.clear_cookies()
    page = profile.new_page()
    page.add_init_script(FORGET_ONCE)
    yield page
    page.close()


@pytest.fixture
def watch(page: Page) -> Watch:
    return Watch().follow(page)
