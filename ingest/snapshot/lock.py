"""One writer at a time: a lock on the warehouse that says who holds it and that dies with its holder."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ingest.errors import BusyError, InputError

FILE = "LOCK"


@contextmanager
def writer_lock(warehouse: Path) -> Iterator[None]:
    """Hold the warehouse for writing.

    Raises BusyError that names the process which holds it; a holder that died holds nothing.
    """
    try:
        warehouse.mkdir(parents=True, exist_ok=True)
        handle = os.open(warehouse / FILE, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(f"{warehouse}: cannot be written ({error.strerror}); choose another --warehouse") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyError(
                f"{warehouse}: another ingest holds it ({_holder(warehouse / FILE)}); wait for it to end, or stop it"
            ) from None
        who = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        }
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(who).encode(), 0)
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _holder(path: Path) -> str:
    try:
        who = json.loads(path.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']}, since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "it has not said who it is yet"
