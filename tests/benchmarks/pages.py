"""`python -m tests.benchmarks.pages WAREHOUSE [--range 7d] [--sessions N] [--raw FILE]`: how quick the pages are.

Serves the warehouse (that of tests/benchmarks/scale.py, say) and asks for every page over the range: the first run of
a page, which asks the engine, then runs again in the same and in new sessions, without a browser. Then in Chromium,
beside an empty Streamlit page: from the address to a page that stands still. `--sessions` sessions come and go, and
the server's memory is read. With `--raw`, pandas reads that file of raw lines and counts attempts by partner and
outcome, which is less than one panel.

Writes artifacts/pages.json and prints the same figures.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.session import Session
from tests.browser.site import PAGES, PATIENCE_MS, REPOSITORY, free_port, launch, visit, wait_for
from tests.conftest import find_chromium

TIMES = 7
#: Pages that show one thing, which is named in their address, have nothing to show without it.
MEASURED = {name: path for name, path in PAGES.items() if name not in ("auction", "order")}
EMPTY = "import streamlit as st\nst.title('Empty')\n"
READ = """
import pandas, sys
rows = pandas.read_json(sys.argv[1], lines=True)
rows = rows[rows["event"] == "attempt"]
print(len(rows.groupby(["partner", rows["http_status"].fillna(-1)]).size()))
"""


@contextmanager
def serving(command: list[str]) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server on a free port, which `command` gets at its end; its address and process."""
    port = free_port()
    child = subprocess.Popen([*command, str(port)], cwd=REPOSITORY, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(address, child)
        yield address, child
    finally:
        child.terminate()
        child.wait(timeout=30)


def memory_mb(process: int) -> float:
    """Resident memory of a process and of those that it started."""
    status = Path(f"/proc/{process}/status").read_text()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    own = next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))
    return own + sum(memory_mb(int(child)) for child in children)


def reruns(address: str, query: str) -> dict[str, dict[str, float]]:
    """Milliseconds of each page: its first run, then medians of runs in one session and in new ones."""
    found = {}
    for name, path in MEASURED.items():
        with Session(address) as session:
            first = session.run(path, query)
            again = [session.run(path, query) for _ in range(TIMES)]
        anew = []
        for _ in range(TIMES):
            with Session(address) as session:
                anew.append(session.run(path, query))
        if any(run.failed for run in (first, *again, *anew)):
            raise SystemExit(f"the page {name} ends with an exception")
        found[name] = {
            "first": round(first.ms),
            "rerun": round(statistics.median(run.ms for run in again)),
            "new session": round(statistics.median(run.ms for run in anew)),
            "elements": first.elements,
        }
        print(f"{name}, ms: {found[name]}", flush=True)
    return found


def memory(address: str, process: int, sessions: int, query: str) -> dict[str, float]:
    """Resident megabytes after each tenth of the sessions, which look at every page in turn."""
    paths = list(MEASURED.values())
    found = {}
    for number in range(1, sessions + 1):
        with Session(address) as session:
            session.run(paths[number % len(paths)], query)
        if number % max(sessions // 10, 1) == 0:
            found[f"after {number}"] = round(memory_mb(process))
    return found


def drawn_s(page: Page, address: str, path: str) -> float:
    """Seconds until a page stands still."""
    began = time.monotonic()
    visit(page, address, path)
    return time.monotonic() - began


def in_chromium(address: str, empty: str, query: str) -> dict[str, float]:
    """Medians of the seconds until each page is drawn in a fresh browser context, and an empty one beside them."""
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("Chromium is not there: apt-get install chromium")
    taken: dict[str, list[float]] = {name: [] for name in ("empty", *MEASURED)}
    with sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        for _ in range(3):
            for name, times in taken.items():
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                page = context.new_page()
                page.set_default_timeout(PATIENCE_MS)
                where = (empty, "") if name == "empty" else (address, f"{MEASURED[name]}?{query}")
                times.append(drawn_s(page, *where))
                context.close()
        browser.close()
    return {name: round(statistics.median(times), 2) for name, times in taken.items()}


def by_pandas(raw: Path) -> dict[str, float]:
    """Seconds in which pandas counts the attempts of a file of raw lines."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", READ, str(raw)], check=True, stdout=subprocess.DEVNULL)
    return {"mb": round(raw.stat().st_size / 1e6, 1), "s": round(time.monotonic() - began, 2)}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pages", description=__doc__)
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("--range", default="7d")
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--raw", type=Path)
    chosen = parser.parse_args()
    query = f"range={chosen.range}"
    figures: dict[str, object] = {}
    ours = [sys.executable, "-m", "dashboard.cli", "serve", "--warehouse", str(chosen.warehouse), "--port"]
    with tempfile.TemporaryDirectory() as scratch, serving(ours) as (address, child):
        figures["server, ms"] = reruns(address, query)
        script = Path(scratch, "empty.py")
        script.write_text(EMPTY)
        plain = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true", "--server.port"]
        with serving(plain) as (empty, _):
            figures["Chromium, s"] = in_chromium(address, empty, query)
            print(f"Chromium, s: {figures['Chromium, s']}", flush=True)
        if chosen.raw:
            figures["pandas over raw lines"] = by_pandas(chosen.raw)
            print(f"pandas: {figures['pandas over raw lines']}", flush=True)
        figures["memory, MB"] = memory(address, child.pid, chosen.sessions, query)
        print(f"memory, MB: {figures['memory, MB']}", flush=True)
    out = Path("artifacts/pages.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
