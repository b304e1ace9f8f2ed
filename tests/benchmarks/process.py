"""Whole processes, timed from outside: CPU and wall seconds, and the peak memory that the kernel saw."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Medians over the runs of one command; `peak_mb` is the largest."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def run(arguments: list[str]) -> Cost:
    """Run a Python module with `arguments`; raises where it fails."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - began, usage.ru_maxrss / 1024)


def median(costs: list[Cost]) -> Cost:
    """The median cost, figure by figure."""
    return Cost(
        statistics.median(cost.cpu_s for cost in costs),
        statistics.median(cost.wall_s for cost in costs),
        max(cost.peak_mb for cost in costs),
    )


def in_turn(first: Callable[[], Cost], second: Callable[[], Cost], times: int) -> tuple[Cost, Cost]:
    """Both commands in turn, so that a drift of the machine meets both."""
    pairs = [(first(), second()) for _ in range(times)]
    return median([pair[0] for pair in pairs]), median([pair[1] for pair in pairs])
