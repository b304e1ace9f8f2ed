"""Partners on loopback that do as each request asks, and the ledger of what they saw.

A request tells in headers which call it belongs to and what is to happen: `X-Script: 503,reset,200` makes the call's
first request an answer 503, its second a reset, and every later one an answer 200.
"""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any

REQUEST_TIMEOUT_S = 10.0
# Longer than any proxy's or client's patience in these tests.
STALL_S = 8.0
BEFORE_RESET_S = 0.02
BID = b'{"id":"1","seatbid":[{"bid":[{"id":"b","impid":"1","price":1.5}]}]}'
REASONS = {200: "OK", 204: "No Content", 429: "Too Many Requests", 502: "Bad Gateway", 503: "Service Unavailable"}


@dataclass(frozen=True)
class Seen:
    """One request that reached a partner: the call's own name, the proxy's name of it, and what was done to it."""

    partner: str
    call: str
    auction: str
    did: str


class Upstreams:
    """Partners by name, each on its own port, with one ledger in the order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._ended = threading.Event()
        self._servers: list[socketserver.ThreadingTCPServer] = []
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Upstreams:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for held in self._sockets:
            held.close()

    def listen(self, partner: str) -> int:
        """A port on which the partner answers."""
        server = _Server(("127.0.0.1", 0), _Handler)
        server.partner, server.upstreams = partner, self
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._servers.append(server)
        return int(server.server_address[1])

    def refuse(self) -> int:
        """A port that stays taken and never listens: every connection to it is refused."""
        reserved = self._hold(socket.socket())
        reserved.bind(("127.0.0.1", 0))
        return int(reserved.getsockname()[1])

    def ignore(self) -> int:
        """A port that neither takes a connection nor refuses one: its queue is full."""
        listener = self._hold(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(2):
            queued = self._hold(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(listener.getsockname())
        return int(listener.getsockname()[1])

    def _hold(self, held: socket.socket) -> socket.socket:
        self._sockets.append(held)
        return held

    def note(self, partner: str, call: str, auction: str, script: str) -> str:
        """Enters a request into the ledger and gives what its script says for it."""
        steps = script.split(",")
        with self._lock:
            before = sum(seen.partner == partner and seen.call == call for seen in self._seen)
            did = steps[min(before, len(steps) - 1)]
            self._seen.append(Seen(partner, call, auction, did))
        return did

    def wait_for_end(self, seconds: float) -> None:
        """Holds a request; returns early when the test is over."""
        self._ended.wait(seconds)

    @property
    def seen(self) -> list[Seen]:
        """The ledger so far."""
        with self._lock:
            return list(self._seen)

    def of(self, call: str) -> list[Seen]:
        """What the ledger has of one call."""
        return [seen for seen in self.seen if seen.call == call]


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64
    partner: str
    upstreams: Upstreams


class _Handler(socketserver.BaseRequestHandler):
    """One connection, one request: connections are not kept, so that each attempt has its own."""

    request: socket.socket
    server: _Server

    def handle(self) -> None:
        self.request.settimeout(REQUEST_TIMEOUT_S)
        try:
            head, body = self._read_head()
            if head:
                self._act(*self._note(head), body)
        except OSError:
            return

    def _read_head(self) -> tuple[str, int]:
        """The header, and how much of the body came with it; nothing for a connection that said nothing."""
        raw = b""
        while b"\r\n\r\n" not in raw:
            more = self.request.recv(65536)
            if not more:
                return "", 0
            raw += more
        head, _, body = raw.partition(b"\r\n\r\n")
        return head.decode("latin-1"), len(body)

    def _note(self, head: str) -> tuple[str, int]:
        """What is to be done with the request, and the length of its body."""
        lines = (line.partition(":") for line in head.split("\r\n")[1:])
        headers = {name.strip().lower(): value.strip() for name, _, value in lines}
        names = headers.get("x-call", ""), headers.get("x-request-id", "")
        did = self.server.upstreams.note(self.server.partner, *names, headers.get("x-script", "200"))
        return did, int(headers.get("content-length", "0"))

    def _act(self, did: str, length: int, came: int) -> None:
        while came < length:
            more = self.request.recv(65536)
            if not more:
                return
            came += len(more)
        upstreams = self.server.upstreams
        word, _, rest = did.partition(":")
        if word == "reset":
            # Not while the request may still be on its way: some proxies repeat it only when it was all written.
            upstreams.wait_for_end(BEFORE_RESET_S)
            self._reset()
        elif word == "close":
            return
        elif word == "stall":
            upstreams.wait_for_end(STALL_S)
        elif word == "torn":
            self.request.sendall(answer(200, length=len(BID) + 1000))
            self._reset()
        else:
            self.request.sendall(answer(int(word), retry_after=rest))

    def _reset(self) -> None:
        """RST in place of a goodbye."""
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()


def answer(status: int, retry_after: str = "", length: int | None = None) -> bytes:
    """A whole HTTP answer, or with a longer `length` one that promises more than it gives."""
    body = b"" if status == 204 else BID
    headers: dict[str, Any] = {"Connection": "close"}
    if status != 204:
        headers |= {"Content-Type": "application/json", "Content-Length": len(body) if length is None else length}
    if retry_after:
        headers["Retry-After"] = retry_after
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + body
