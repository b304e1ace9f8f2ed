"""Servers of the operating system's packages, as child processes of a test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

READY_S = 20.0
ADMIN_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/sbin")


# Servers and the packages that bring them.
PACKAGES = {"nginx": "nginx-light", "haproxy": "haproxy"}


def find(name: str) -> str | None:
    """Path of an installed server, or None."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(ADMIN_FOLDERS))


def missing_packages() -> list[str]:
    """What must be installed for the servers that are not there."""
    return [package for name, package in PACKAGES.items() if find(name) is None]


def program(name: str) -> str:
    """Path of an installed server; without one the test is skipped, but in CI it fails."""
    path = find(name)
    if path is None:
        reason = f"no {name} found: apt-get install {PACKAGES[name]}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


class Server:
    """A child process that listens on a loopback port, ended when the `with` ends."""

    def __init__(self, arguments: list[str], port: int, said: Path, **environment: str) -> None:
        self.port = port
        self._said = said
        with said.open("wb") as output:
            self._process = subprocess.Popen(
                arguments, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=os.environ | environment
            )
        try:
            wait_until(self._listens, f"{arguments[0]} does not listen")
        except BaseException:
            self.end()
            raise

    def _listens(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError(f"ended at once: {self._said.read_text()}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self) -> None:
        """Ask it to end; kill it when it does not."""
        self._process.terminate()
        try:
            self._process.wait(READY_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def wait_until(true: Callable[[], bool], otherwise: str) -> None:
    """Asks again and again until something is so; fails with `otherwise` when it takes too long."""
    until = time.monotonic() + READY_S
    while not true():
        assert time.monotonic() < until, otherwise
        time.sleep(0.02)
