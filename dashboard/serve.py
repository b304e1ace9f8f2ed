"""Running the dashboard: Streamlit as a child process, its address told as soon as it answers."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from dashboard.errors import UserError
from dashboard.marks import VARIABLE as MARKS_VARIABLE
from dashboard.snapshot import current_name

APP = Path(__file__).with_name("asgi.py")
WAREHOUSE_VARIABLE = "RETRYLENS_WAREHOUSE"
PATIENCE_S = 60.0


class ServeError(UserError):
    """The dashboard ended before it answered."""

    exit_code = 1


def serve(warehouse: Path, host: str, port: int, marks: Path | None = None) -> int:
    """Serve `warehouse` until stopped; gives the exit code. Raises UserError where it cannot start.

    `marks`: the CSV file of marks, in place of the one in the warehouse.
    """
    current_name(warehouse)
    if marks is not None and not marks.is_file():
        raise UserError(f"{marks}: no such file; name the CSV of marks with --marks FILE")
    _check_port(host, port)
    began = time.monotonic()
    child = subprocess.Popen(
        _command(host, port),
        env=_environment(warehouse, marks),
        stdout=subprocess.DEVNULL,
    )

    def stop(_signal: int, _frame: FrameType | None) -> None:
        child.terminate()

    signal.signal(signal.SIGTERM, stop)
    try:
        _wait_for_answer(child, host, port)
        print(f"RetryLens answers at {address(host, port)} (started in {time.monotonic() - began:.1f} s)", flush=True)
        print(f"It shows {warehouse}. Stop it with Ctrl-C.", flush=True)
        code = child.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait(timeout=10)
    return 0 if code in (0, -signal.SIGTERM, -signal.SIGINT) else 1


def address(host: str, port: int) -> str:
    """The URL under which a browser on this machine finds the dashboard."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}"


def _environment(warehouse: Path, marks: Path | None) -> dict[str, str]:
    told = {WAREHOUSE_VARIABLE: str(warehouse.resolve())}
    return {**os.environ, **told} | ({} if marks is None else {MARKS_VARIABLE: str(marks.resolve())})


def _command(host: str, port: int) -> list[str]:
    options = {
        "server.address": host,
        "server.port": port,
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        "client.showErrorDetails": "none",
        "client.toolbarMode": "minimal",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "streamlit", "run", str(APP), *flags]


def _check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            what = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be opened ({error.strerror})"
            raise UserError(f"port {port} of {host} {what}; choose another with --port") from None


def _wait_for_answer(child: subprocess.Popen[bytes], host: str, port: int) -> None:
    open_url = build_opener(ProxyHandler({})).open
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if child.poll() is not None:
            raise ServeError(f"the dashboard ended with code {child.returncode} before it answered")
        try:
            with open_url(f"{address(host, port)}/_stcore/health", timeout=2):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise ServeError(f"the dashboard did not answer at {address(host, port)} within {PATIENCE_S:.0f} s")
