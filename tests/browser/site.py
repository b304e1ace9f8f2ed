"""A served dashboard, and a browser that notes everything it should not do."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, Request

REPOSITORY = Path(__file__).resolve().parents[2]
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PAGES = {
    "overview": "",
    "funnel": "funnel",
    "no_bids": "no_bids",
    "retries": "retries",
    "whatif": "whatif",
    "breakers": "breakers",
    "limits": "limits",
    "partner": "partner",
    "data": "data",
    "auction": "auction",
    "order": "order",
}
LOOPBACK = {"127.0.0.1", "localhost", "::1", None}
PATIENCE_MS = 60_000
GLANCE_MS = 100
"""How often a page that is drawing is asked; at every frame, as is usual, the asking itself takes most of the time."""

SETTLED = """() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
    && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(c => c.querySelector('.main-svg'))
    && !document.querySelector('[data-testid=stSkeleton]')"""
"""The run has ended, every chart is drawn, no placeholder is left."""

BACKGROUND = "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(warehouse: Path) -> Iterator[str]:
    """`retrylens serve` on a free port; gives its address, and ends that very process afterwards."""
    port = free_port()
    command = [sys.executable, "-m", "dashboard.cli", "serve", "--warehouse", str(warehouse), "--port", str(port)]
    child = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(address, child)
        yield address
    finally:
        child.terminate()
        child.wait(timeout=30)


def wait_for(address: str, child: subprocess.Popen[bytes]) -> None:
    """Returns once the server answers."""
    reach = build_opener(ProxyHandler({})).open
    end = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < end:
        if child.poll() is not None:
            raise AssertionError(f"retrylens serve ended with {child.returncode}")
        try:
            with reach(f"{address}/_stcore/health", timeout=2):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"nothing answers at {address}")


def launch(playwright: Playwright, path: str) -> Browser:
    """The system's Chromium, without its own errands in the network."""
    return playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGUMENTS)


def launch_with_profile(playwright: Playwright, path: str, folder: Path) -> BrowserContext:
    """The same with a profile in `folder`, and without moving pictures: they cost more than the pages."""
    return playwright.chromium.launch_persistent_context(
        folder,
        executable_path=path,
        args=CHROMIUM_ARGUMENTS,
        viewport={"width": 1440, "height": 900},
        reduced_motion="reduce",
    )


@dataclass
class Watch:
    """What a page did wrong: errors in its console, requests that left the machine."""

    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> "Watch":
        """Listens from now on."""
        page.on("console", lambda message: self.heard(message.type, message.text, message.location.get("url", "")))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self.asked)
        return self

    def heard(self, kind: str, text: str, url: str) -> None:
        """Keeps errors; on a deep link Streamlit looks for its server below the page's path first: its own 404s."""
        if kind == "error" and "/_stcore/" not in url:
            self.errors.append(f"{text} ({url})")

    def asked(self, request: Request) -> None:
        """Keeps requests to other hosts."""
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in LOOPBACK:
            self.strangers.append(request.url)


def visit(page: Page, address: str, path: str) -> None:
    """Opens a page and waits until it is drawn."""
    page.goto(f"{address}/{path}", wait_until="domcontentloaded", timeout=PATIENCE_MS)
    settle(page)


def settle(page: Page) -> None:
    """Waits for the page's title, for the end of its run and for its charts."""
    page.locator("[data-testid=stMain] h1").first.wait_for(timeout=PATIENCE_MS)
    page.wait_for_function(SETTLED, timeout=PATIENCE_MS, polling=GLANCE_MS)
    page.wait_for_timeout(400)


def darken(page: Page) -> None:
    """Lets the system's colours be dark, and waits until the page's are."""
    light = page.evaluate(BACKGROUND)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => ({BACKGROUND})() !== before", arg=light)
