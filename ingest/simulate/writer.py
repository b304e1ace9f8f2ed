"""Writes the lines to one file a stream and day, in the order in which they were logged."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from pathlib import Path
from typing import IO

import zstandard

from ingest.simulate.stats import DAY_US, iso

SUFFIXES = {"none": "", "gz": ".gz", "zst": ".zst"}


class LogWriter:
    """Keeps lines until no earlier one can come, then writes them; `lines` counts by kind."""

    def __init__(self, out: Path, compress: str) -> None:
        self.out = out
        self.compress = compress
        self.lines: Counter[str] = Counter()
        self._waiting: list[tuple[int, int, str, str]] = []
        self._serial = 0
        self._files: dict[tuple[str, int], IO[bytes]] = {}
        self._raw: list[IO[bytes]] = []

    def add(self, logged: int, stream: str, line: str, kind: str = "facts") -> None:
        """Queue a line of `stream` that the log gets at the moment `logged`; kind: facts, rejects or blank."""
        self._serial += 1
        self.lines[kind] += 1
        self._waiting.append((logged, self._serial, stream, line))

    def flush(self, before: int | None = None) -> None:
        """Write what was logged before that moment; None writes everything."""
        waiting = sorted(self._waiting)
        if before is None:
            self._waiting = []
        else:
            self._waiting = [entry for entry in waiting if entry[0] >= before]
            del waiting[len(waiting) - len(self._waiting) :]
        chunks: dict[tuple[str, int], list[str]] = {}
        for logged, _, stream, line in waiting:
            chunks.setdefault((stream, logged // DAY_US), []).append(line)
        for (stream, day), lines in chunks.items():
            lines.append("")
            self._file(stream, day).write("\n".join(lines).encode())

    def close(self) -> None:
        """Write the rest and close all files."""
        self.flush()
        for file in self._files.values():
            file.close()
        for raw in self._raw:
            raw.close()
        self._files = {}
        self._raw = []

    def _file(self, stream: str, day: int) -> IO[bytes]:
        if (stream, day) not in self._files:
            date = iso(day * DAY_US)[:10]
            raw = (self.out / f"{stream}-{date}.jsonl{SUFFIXES[self.compress]}").open("wb")
            self._raw.append(raw)
            self._files[stream, day] = self._packed(raw)
        return self._files[stream, day]

    def _packed(self, raw: IO[bytes]) -> IO[bytes]:
        """The same bytes for the same lines: no name and no time in the header."""
        if self.compress == "gz":
            return io.BufferedWriter(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
        if self.compress == "zst":
            return zstandard.ZstdCompressor(level=12).stream_writer(raw)
        return raw
