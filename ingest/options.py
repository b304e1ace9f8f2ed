"""How a load reads, and what one bears that comes again and again."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ingest.report import FileReport
from ingest.sources import FileState, Found, file_state


@dataclass(frozen=True)
class Options:
    """How to read: `format` is a name or a file (None: guess), `zone` places times without an offset.

    `keep_days` whole days before the newest event's are kept (None: as the settings say).
    """

    format: str | None = None
    zone: str | None = None
    dedup: bool = False
    keep_days: int | None = None


@dataclass
class Patience:
    """What a run that comes again and again bears: paths that are not there yet, files that vanish meanwhile.

    It reports and publishes what is new only; a file that was refused is read again once it has changed (`refused`
    keeps the state it was refused in).
    """

    refused: dict[str, FileState] = field(default_factory=dict)

    def skips(self, found: Found) -> bool:
        """Whether the file stands as it was when it was refused, or is gone."""
        state = state_of(found)
        return state is None or self.refused.get(found.name) == state

    def note(self, found: Found, report: FileReport) -> None:
        """Remember what the file was refused as."""
        state = state_of(found)
        if report.status == "refused" and state is not None:
            self.refused[found.name] = state
        else:
            self.refused.pop(found.name, None)


def state_of(found: Found) -> FileState | None:
    """What tells that a file was written to since; None where it is not there, or is no file."""
    try:
        return None if found.path is None else file_state(os.stat(found.path))
    except (OSError, ValueError):
        return None
