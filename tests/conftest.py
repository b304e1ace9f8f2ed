"""What every test may ask for: the browser, and the folder of worked cases."""

import functools
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
LONGEST = {
    "test_accessibility",
    "test_commits",
    "test_crash",
    "test_disk_full",
    "test_housekeeping",
    "test_ingest",
    "test_numbers",
    "test_numbers_borders",
    "test_numbers_exchange",
    "test_numbers_hidden",
    "test_numbers_postbacks",
    "test_pages",
    "test_seen",
}
"""Files that take more than a minute alone."""

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: the quick ones fill the end, where one process would wait for the other."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path.stem not in LONGEST, item.path not in slow))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A process more than processors: while one waits for a page, a disk or a pause, the others go on."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + 1


def find_chromium() -> str | None:
    """Path of an installed Chromium, or None."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session", autouse=True)
def packages_scanned_once() -> Iterator[None]:
    """Every run of a page under AppTest reads what all installed packages say of themselves, which stays the same."""
    if "streamlit.testing.v1" not in sys.modules:
        yield
        return
    from streamlit.components.v2 import manifest_scanner

    with pytest.MonkeyPatch.context() as patched:
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        patched.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser; without one the test is skipped, but in CI it fails."""
    path = find_chromium()
    if path is None:
        reason = "no Chromium found: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="session")
def cases_dir() -> Path:
    """The worked cases: the folder named by RETRYLENS_CASES, else the one beside the repository."""
    path = Path(os.environ.get("RETRYLENS_CASES") or REPOSITORY.parent / "shared" / "cases")
    if not path.is_dir():
        pytest.skip(f"no worked cases at {path}: set RETRYLENS_CASES")
    return path
