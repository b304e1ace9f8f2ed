"""One writer at a time: a lock on the warehouse that says who holds it and that dies with its holder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from ingest.errors import BusyError, InputError, StorageError
from ingest.snapshot.leftovers import remove_leftovers

FILE = "LOCK"
FULL = (errno.ENOSPC, errno.EDQUOT)
#: What errors of the engine say when it could not write, be it to a table's file or to what it spills.
ENGINE_FULL = ("No space left on device", "Disk quota exceeded", "failed to offload data block")


@contextmanager
def writer_lock(warehouse: Path) -> Iterator[None]:
    """Hold the warehouse for writing; what an earlier holder left when it died is removed first.

    Raises BusyError that names the process which holds it (a holder that died holds nothing), and StorageError where
    the disk is full or fails meanwhile: the warehouse is then as it was published last.
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
        if os.fstat(handle).st_size:
            remove_leftovers(warehouse)
        try:
            _sign(handle)
            yield
        except BaseException as error:
            remove_leftovers(warehouse)
            os.ftruncate(handle, 0)
            told = _told(warehouse, error)
            if told is None:
                raise
            raise told from error
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _sign(handle: int) -> None:
    """Write into the lock who holds it: a lock that is signed and not held is one whose holder died."""
    who = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(who).encode(), 0)


def _told(warehouse: Path, error: BaseException) -> StorageError | None:
    """The line for the person at the terminal, where `error` is the disk's."""
    if isinstance(error, OSError) and error.errno is not None:
        full, words = error.errno in FULL, ": ".join(map(str, filter(None, (error.filename, error.strerror))))
    elif isinstance(error, duckdb.Error):
        words = str(error).splitlines()[0]
        full = any(sign in str(error) for sign in ENGINE_FULL)
        if not full and not isinstance(error, duckdb.IOException):
            return None
    else:
        return None
    if not full:
        return StorageError(
            f"{warehouse}: cannot be written or read ({words}); nothing of this run was kept, try again"
        )
    return StorageError(
        f"{warehouse}: no space left, {shutil.disk_usage(warehouse).free / 1e6:.1f} MB are free; nothing of this run"
        " was kept, what was loaded before is as it was. Make room and run it again"
    )


def _holder(path: Path) -> str:
    try:
        who = json.loads(path.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']}, since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "it has not said who it is yet"
