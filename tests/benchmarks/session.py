"""A session with a served dashboard, without a browser: asks for runs of its script, and reads until each has ended."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

PATIENCE_S = 120.0
ENDED = (
    ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY,
    ForwardMsg.ScriptFinishedStatus.FINISHED_EARLY_FOR_RERUN,
    ForwardMsg.ScriptFinishedStatus.FINISHED_WITH_COMPILE_ERROR,
)


@dataclass(frozen=True)
class Run:
    """One run of the script: ms until its first and last element, how many came, whether one is an exception."""

    first_ms: float
    ms: float
    elements: int
    failed: bool


class Session:
    """A session at `address`; a context manager."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._socket: ClientConnection | None = None

    def __enter__(self) -> Session:
        host = urlsplit(self._address).netloc
        self._socket = connect(
            f"ws://{host}/_stcore/stream", subprotocols=[Subprotocol("streamlit")], max_size=None, proxy=None
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._socket is not None:
            self._socket.close()

    def run(self, page: str, query: str = "") -> Run:
        """Run the script for a page (its path) with a query string."""
        assert self._socket is not None
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_name = page
        began = time.perf_counter()
        self._socket.send(message.SerializeToString())
        first, elements, failed = 0.0, 0, False
        while True:
            received = self._socket.recv(timeout=PATIENCE_S)
            assert isinstance(received, bytes)
            answer = ForwardMsg()
            answer.ParseFromString(received)
            kind = answer.WhichOneof("type")
            if kind in ("delta", "ref_hash"):
                elements += 1
                first = first or (time.perf_counter() - began) * 1000
                failed |= kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception"
            elif kind == "script_finished" and answer.script_finished in ENDED:
                return Run(first, (time.perf_counter() - began) * 1000, elements, failed)
