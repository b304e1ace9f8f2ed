"""A reader that polls a warehouse while it is written to."""

from __future__ import annotations

import time
from pathlib import Path

from dashboard.snapshot import current_name

LONGEST_S = 0.25
GLANCE_S = 0.005


def await_publish(warehouse: Path, seen: str) -> None:
    """Returns as soon as another snapshot than `seen` is published, when a reader is misled most easily, or soon."""
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until and current_name(warehouse) == seen:
        time.sleep(GLANCE_S)
