"""How far a run is: told by the load as it goes, drawn on a terminal, and there alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ingest.sources import Found

if TYPE_CHECKING:
    from rich.progress import Progress


@dataclass(frozen=True)
class Step:
    """What was read so far: `taken` of `total` bytes as they lie on the disk (`total` is 0 where a pipe is among the
    files), bytes of new lines once decoded, lines and rejects. `models`: all is read, the models are being made.
    """

    taken: int = 0
    total: int = 0
    decoded: int = 0
    lines: int = 0
    rejects: int = 0
    models: bool = False


OnStep = Callable[[Step], None]


def no_step(step: Step) -> None:
    """Tells no one."""


class Meter:
    """Adds up what a run reads, and tells of it."""

    def __init__(self, on_step: OnStep, found: Sequence[Found]) -> None:
        self._on_step = on_step
        sizes = [_size(one) for one in found]
        self._step = Step(total=0 if None in sizes else sum(size or 0 for size in sizes))
        self._before = 0
        on_step(self._step)

    def read(self, taken: int, decoded: int, lines: int, rejects: int) -> None:
        """So many more lines were read; of their file `taken` bytes are behind the reader."""
        step = self._step
        self._step = replace(
            step,
            taken=self._before + taken,
            decoded=step.decoded + decoded,
            lines=step.lines + lines,
            rejects=step.rejects + rejects,
        )
        self._on_step(self._step)

    def end_file(self, one: Found) -> None:
        """A file is done with, be it read, known or refused."""
        self._before += _size(one) or 0
        self._step = replace(self._step, taken=self._before)
        self._on_step(self._step)

    def make_models(self) -> None:
        """All files are done with."""
        self._step = replace(self._step, models=True)
        self._on_step(self._step)


def _size(one: Found) -> int | None:
    """Bytes of a file on the disk; None where that is not known, as of a pipe."""
    try:
        return os.path.getsize(one.path) if one.path is not None else None
    except (OSError, ValueError):
        return 0


@contextmanager
def shown_steps() -> Iterator[OnStep]:
    """A bar on standard error with MB/s, lines, rejects and the time left; where that is no terminal, nothing."""
    if not sys.stderr.isatty():
        yield no_step
        return
    with _bar() as bar:
        task = bar.add_task("reading", total=None, rate=0.0, lines=0, rejects=0)

        def show(step: Step) -> None:
            held = bar.tasks[0]
            rate = held.fields["rate"] if step.models else step.decoded / 1e6 / (held.elapsed or 1e-9)
            bar.update(
                task,
                description="models" if step.models else "reading",
                completed=step.taken,
                total=step.total or None,
                rate=rate,
                lines=step.lines,
                rejects=step.rejects,
            )

        yield show


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn(
            "{task.fields[rate]:,.1f} MB/s, {task.fields[lines]:,} lines, {task.fields[rejects]:,} rejects",
            markup=False,
        ),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("taken"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
