"""What an ingest run says of each file and of all: the numbers of `ingest --json` and of a row of `loads`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class FileReport:
    """One file of one run. `lines = facts + rejects + blank + repeated`; sizes in bytes of decoded new content."""

    file: str
    number: int
    started: datetime
    format: str | None = None
    status: str = "loaded"
    reason: str | None = None
    lines: int = 0
    facts: int = 0
    rejects: int = 0
    blank: int = 0
    repeated: int = 0
    mended: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    seconds: float = 0.0
    finished: datetime | None = None
    warnings: list[str] = field(default_factory=list)

    def refuse(self, reason: str) -> None:
        """The file counts for nothing: refused whole."""
        self.status, self.reason = "refused", " ".join(reason.split())
        self.lines = self.facts = self.rejects = self.blank = self.repeated = self.bytes = 0
        self.mended.clear()

    def check(self) -> None:
        """Assert that every line is accounted for."""
        if self.lines != self.facts + self.rejects + self.blank + self.repeated:
            raise AssertionError(f"{self.file}: {self.lines} lines are not the sum of their kinds: {self}")

    def as_dict(self) -> dict[str, object]:
        """The object of `ingest --json`."""
        rate = self.bytes / 1e6 / self.seconds if self.seconds > 0 else 0.0
        return {
            "file": self.file,
            "format": self.format,
            "status": self.status,
            "reason": self.reason,
            "lines": self.lines,
            "facts": self.facts,
            "rejects": self.rejects,
            "blank": self.blank,
            "repeated": self.repeated,
            "mended": dict(sorted(self.mended.items())),
            "seconds": round(self.seconds, 3),
            "mb_per_s": round(rate, 1),
        }

    def load_row(self, load_id: int) -> tuple[object, ...]:
        """The row of `loads`, in its column order."""
        return (
            load_id,
            self.file,
            self.format,
            self.lines,
            self.facts,
            self.rejects,
            self.blank,
            self.repeated,
            json.dumps(dict(sorted(self.mended.items()))),
            self.started,
            self.finished,
            self.status,
            self.reason,
        )


@dataclass
class RunReport:
    """All files of one run, and what the run published."""

    files: list[FileReport]
    seconds: float = 0.0
    snapshot: str | None = None

    @property
    def refused(self) -> list[FileReport]:
        return [file for file in self.files if file.status == "refused"]

    def totals(self) -> dict[str, object]:
        """Sums over the files, by the names of `ingest --json`."""
        mended: Counter[str] = Counter()
        for file in self.files:
            mended += file.mended
        sums = {
            name: sum(getattr(file, name) for file in self.files)
            for name in ("lines", "facts", "rejects", "blank", "repeated")
        }
        size = sum(file.bytes for file in self.files)
        return {
            **sums,
            "mended": dict(sorted(mended.items())),
            "seconds": round(self.seconds, 3),
            "mb_per_s": round(size / 1e6 / self.seconds, 1) if self.seconds > 0 else 0.0,
        }

    def as_dict(self) -> dict[str, object]:
        return {"files": [file.as_dict() for file in self.files], "totals": self.totals()}
