"""What every test may ask for: the browser, and the folder of worked cases."""

import os
import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first: the quick ones fill the end, where one process would wait for the other."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def find_chromium() -> str | None:
    """Path of an installed Chromium, or None."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


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
