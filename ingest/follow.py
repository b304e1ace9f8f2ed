"""Load files as they grow and folders as they fill, until asked to stop.

What moves is told by the system (inotify and its like, by watchdog) and, where that is silent (network file systems,
folders that come later), found by looking every POLL_S. Loads never follow one another closer than the pause that was
asked for; a file that vanished, or that was refused and stands as it was, is passed over.
"""

from __future__ import annotations

import glob
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from ingest.errors import BusyError, InputError, StorageError
from ingest.load import ingest
from ingest.options import Options, Patience
from ingest.report import RunReport
from ingest.sources.discover import STDIN

POLL_S = 30.0
#: What happened to a file that may have given it new lines, or a new name.
CHANGES = ("created", "modified", "moved", "closed")


class Watch:
    """Tells when something moved below any of `paths`; what happens below `outside` is none of it."""

    def __init__(self, paths: Sequence[str], outside: Path) -> None:
        self._moved = threading.Event()
        self._observer = Observer()
        self._handler = _Wake(self._moved, os.path.realpath(outside))
        self._watched: set[str] = set()
        self._paths = paths
        self._observer.start()
        self.renew()

    def renew(self) -> None:
        """Watch the folders that have come since; one that cannot be watched is looked at every POLL_S."""
        for folder, below in _folders(self._paths):
            if folder not in self._watched and os.path.isdir(folder):
                try:
                    self._observer.schedule(self._handler, folder, recursive=below)
                except OSError:
                    continue
                self._watched.add(folder)

    def wait(self, seconds: float) -> None:
        """Return when something moved, or after `seconds`."""
        self._moved.wait(seconds)
        self._moved.clear()

    def wake(self) -> None:
        """Let `wait` return."""
        self._moved.set()

    def close(self) -> None:
        self._observer.stop()
        self._observer.join()


class _Wake(FileSystemEventHandler):
    def __init__(self, moved: threading.Event, outside: str) -> None:
        self._moved, self._outside = moved, outside

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in CHANGES:
            return
        path = os.path.realpath(os.fsdecode(event.src_path))
        if path != self._outside and not path.startswith(self._outside + os.sep):
            self._moved.set()


class Follower:
    """Loads what is new in `paths` again and again; `stop()` may be called from a signal handler."""

    def __init__(
        self,
        paths: Sequence[str],
        warehouse: Path,
        options: Options,
        *,
        every_s: float,
        on_load: Callable[[RunReport], None],
        on_wait: Callable[[str], None],
    ) -> None:
        if STDIN in paths:
            raise InputError("--follow watches files and folders; leave out -")
        self._paths, self._warehouse, self._options = paths, warehouse, options
        self._every_s = every_s
        self._on_load, self._on_wait = on_load, on_wait
        self._patience = Patience()
        self._stopped = False
        self._watch: Watch | None = None

    def stop(self) -> None:
        """End after the load that runs now."""
        self._stopped = True
        if self._watch is not None:
            self._watch.wake()

    def run(self) -> None:
        """Load until stopped. Raises InputError for wrong options, formats and settings."""
        self._watch = Watch(self._paths, self._warehouse)
        try:
            while not self._stopped:
                began = time.monotonic()
                self._load()
                self._rest(began)
        finally:
            self._watch.close()

    def _load(self) -> None:
        try:
            report = ingest(self._paths, self._warehouse, self._options, patience=self._patience)
        except (BusyError, StorageError) as error:
            self._on_wait(str(error))
            return
        if report.files:
            self._on_load(report)

    def _rest(self, began: float) -> None:
        """Wait for the next change, and not less than the pause since the load began."""
        if self._watch is None or self._stopped:
            return
        self._watch.renew()
        self._watch.wait(POLL_S)
        while not self._stopped and (left := self._every_s - (time.monotonic() - began)) > 0:
            self._watch.wait(left)


def _folders(paths: Iterable[str]) -> list[tuple[str, bool]]:
    """The folders to watch for `paths`, each with whether all below it matters."""
    found: list[tuple[str, bool]] = []
    for path in paths:
        if os.path.isdir(path):
            found.append((path, True))
        elif glob.has_magic(path) and not os.path.lexists(path):
            plain = path
            while glob.has_magic(plain):
                plain = os.path.dirname(plain)
            found.append((plain or ".", True))
        else:
            found.append((os.path.dirname(path) or ".", False))
    return found
