"""The exchange or the network that calls: sends one request and tells what came back."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.real.process import wait_until

ENOUGH_S = 20.0
PATIENCE_S = 0.3


@dataclass(frozen=True)
class Reply:
    """What the caller got; no status when the connection broke before one came."""

    status: int | None
    headers: dict[str, str]


def send(port: int, path: str, call: str, script: str = "200", **headers: str) -> Reply:
    """One POST on its own connection; the names of further headers take `-` for `_`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ENOUGH_S)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("POST", path, b'{"id":"1"}', {"X-Call": call, "X-Script": script, **named})
        response = connection.getresponse()
        given = {name.lower(): value for name, value in response.getheaders()}
        with contextlib.suppress(http.client.IncompleteRead, OSError):
            response.read()
        return Reply(response.status, given)
    except (OSError, http.client.HTTPException):
        return Reply(None, {})
    finally:
        connection.close()


def leave(port: int, path: str, call: str, begun: Callable[[], bool], promised: int = 0) -> None:
    """Sends a POST that gets no answer, and hangs up a while after it has `begun` to be dealt with.

    With more bytes `promised` than its body has it hangs up while it seems to be sending still.
    """
    body = b'{"id":"1"}'
    headers = {"X-Call": call, "X-Script": "stall", "Content-Length": str(promised or len(body))}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ENOUGH_S)
    try:
        connection.request("POST", path, body, headers)
        wait_until(begun, f"no partner saw {call}")
        time.sleep(PATIENCE_S)
    finally:
        connection.close()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
