"""HAProxy in front of partners, with the log lines that the guide of the format recommends.

It sends its log to a socket as to a syslog daemon; the lines are written to a file as such a daemon would.
"""

from __future__ import annotations

import csv
import os
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.real.client import free_port
from tests.real.process import Server, program, wait_until

CONNECT_TIMEOUT_MS = 300
# Long enough for a partner on a busy machine.
SERVER_TIMEOUT_MS = 1000
QUEUE_TIMEOUT_MS = 200

GUIDE = REPOSITORY / "ingest" / "formats" / "guides" / "haproxy.md"
PRIORITY = re.compile(rb"^<\d+>")


@dataclass(frozen=True)
class Partner:
    """A backend: its servers, and what it does again."""

    ports: tuple[int, ...]
    retries: int = 3
    retry_on: str = "conn-failure"
    maxconn: int = 0
    options: tuple[str, ...] = ()


class Haproxy(Server):
    """A running HAProxy: `/PARTNER/bid` goes to the partner; `recommended` logs more than `option httplog`."""

    def __init__(self, folder: Path, partners: Mapping[str, Partner], zone: str, recommended: bool = True) -> None:
        self.log = folder / "haproxy.log"
        folder.mkdir()
        self._control = folder / "control"
        self._syslog = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._syslog.bind(("127.0.0.1", 0))
        port, log_port = free_port(), self._syslog.getsockname()[1]
        configuration = folder / "haproxy.cfg"
        configuration.write_text(_configuration(folder, port, log_port, partners, recommended), encoding="utf-8")
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        haproxy = program("haproxy")
        super().__init__([haproxy, "-db", "-f", str(configuration)], port, folder / "said.txt", TZ=zone)

    def _listen(self) -> None:
        with self.log.open("ab", buffering=0) as log:
            while line := self._syslog.recv(65536):
                log.write(PRIORITY.sub(b"", line).rstrip(b"\n") + b"\n")

    def wait_for_lines(self, count: int) -> None:
        """Until the log has that many calls."""
        wait_until(lambda: self.calls_logged() >= count, f"fewer than {count} lines were logged")

    def calls_logged(self) -> int:
        """Lines of the log that tell of a call, not of a start."""
        return self.log.read_bytes().count(b' HTTP/1.1"')

    def counters(self) -> dict[str, dict[str, int]]:
        """HAProxy's own counts by backend: connection errors, response errors, retries, redispatches."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self._control))
            control.sendall(b"show stat\n")
            told = b""
            while more := control.recv(65536):
                told += more
        rows = csv.DictReader(told.decode().lstrip("# ").splitlines())
        names = ("econ", "eresp", "wretr", "wredis", "stot")
        return {
            row["pxname"]: {name: int(row[name] or 0) for name in names} for row in rows if row["svname"] == "BACKEND"
        }

    def end(self) -> None:
        """End the process, then the listener."""
        super().end()
        self._syslog.sendto(b"", self._syslog.getsockname())
        self._listener.join()
        self._syslog.close()


def _configuration(folder: Path, port: int, log_port: int, partners: Mapping[str, Partner], recommended: bool) -> str:
    log = _recommended() if recommended else "option httplog"
    user = "user root\n    group root" if os.geteuid() == 0 else ""
    routes = "\n".join(f"    use_backend {name} if {{ path_beg /{name}/ }}" for name in partners)
    backends = "\n".join(_backend(name, partner) for name, partner in partners.items())
    return f"""
global
    log 127.0.0.1:{log_port} local0
    stats socket {folder}/control
    maxconn 200
    {user}

defaults
    mode http
    log global
    timeout client 5s
    timeout http-request 5s
    timeout connect {CONNECT_TIMEOUT_MS}ms
    timeout server {SERVER_TIMEOUT_MS}ms
    timeout queue {QUEUE_TIMEOUT_MS}ms

frontend exchange
    bind 127.0.0.1:{port}
    {log}
{routes}
{backends}
"""


def _recommended() -> str:
    """The lines of the guide's second frontend."""
    frontends = re.findall(r"^frontend \w+\n((?: .*\n)+)", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    return str(frontends[1])


def _backend(name: str, partner: Partner) -> str:
    limit = f" maxconn {partner.maxconn}" if partner.maxconn else ""
    servers = "\n".join(f"    server s{n} 127.0.0.1:{port}{limit}" for n, port in enumerate(partner.ports, start=1))
    options = "\n".join(f"    {option}" for option in partner.options)
    return f"""
backend {name}
    retries {partner.retries}
    retry-on {partner.retry_on}
{options}
{servers}
"""
