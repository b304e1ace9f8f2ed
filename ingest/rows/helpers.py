"""Processes that read batches beside the load, for logs whose lines are mostly left to the definition.

Batches and what was read of them go through pipes. When the load ends, or dies, its helpers read the end of theirs and
end too. They are started as plain processes: nothing of the program that loads is run in them again.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from zoneinfo import ZoneInfo

from ingest.formats.spec import Format
from ingest.rows.batch import Batch, read_batch
from ingest.rows.raw import Raw
from ingest.rows.record import Reader

#: More processes would wait for the one that stages what they read.
MOST = 4
_SERVE = "import sys; sys.path[:] = sys.argv[1:]; from ingest.rows.helpers import serve; serve()"


class _Helper:
    """One process. It works on one batch at a time: `send` and `receive` take turns, so that no pipe can fill up."""

    def __init__(self, *job: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, *sys.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.send(job)

    def send(self, thing: object) -> None:
        """Hand it over; that the process has died is found by `receive`."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            pickle.dump(thing, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def receive(self) -> Batch | None:
        """What it read; None where it has died (was killed, perhaps, for want of memory)."""
        assert self._process.stdout is not None
        try:
            batch = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            return None
        assert isinstance(batch, Batch)
        return batch

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._process.wait()


def read_beside(
    fmt: Format, zone: str | None, file_no: int, batches: Iterable[list[Raw]], *, want_hashes: bool
) -> Iterator[Batch]:
    """The batches of a file, read by as many processes as there are processors, in order.

    What a process that died had in hand is read here, and it gets nothing more.
    """
    reader = Reader(fmt, ZoneInfo(zone) if zone else None)
    helpers = [_Helper(fmt, zone, file_no, want_hashes) for _ in range(min(os.cpu_count() or 1, MOST))]
    idle, busy = deque(helpers), deque[tuple[_Helper, list[Raw]]]()

    def take() -> Batch:
        helper, raws = busy.popleft()
        batch = helper.receive()
        if batch is None:
            return read_batch(reader, file_no, raws, want_hashes=want_hashes)
        idle.append(helper)
        return batch

    try:
        for raws in batches:
            while busy and not idle:
                yield take()
            if not idle:
                yield read_batch(reader, file_no, raws, want_hashes=want_hashes)
                continue
            busy.append((idle.popleft(), raws))
            busy[-1][0].send(raws)
        while busy:
            yield take()
    finally:
        for helper in helpers:
            helper.end()


def serve() -> None:
    """The work of a helper: read what comes until nothing does. Ctrl-C is the load's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fmt, zone, file_no, want_hashes = pickle.load(sys.stdin.buffer)
    reader = Reader(fmt, ZoneInfo(zone) if zone else None)
    try:
        while True:
            batch = read_batch(reader, file_no, pickle.load(sys.stdin.buffer), want_hashes=want_hashes)
            pickle.dump(batch, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
            sys.stdout.buffer.flush()
    except (EOFError, BrokenPipeError):
        os._exit(0)
