"""What `retrylens formats` says of a format, and of a trial of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ingest.facts.columns import COLUMNS
from ingest.formats.registry import FOLDER
from ingest.formats.spec import AnyFormat, Format
from ingest.formats.trial import Trial, carried

#: Characters of a value, and of a rejected line, that are shown.
SHOWN = 60


def describe(fmt: AnyFormat) -> Iterator[str]:
    """How the format is recognised, what it carries, what it does not, and where its guide is."""
    yield f"{fmt.name}: {fmt.title}"
    yield f"recognised by {_recognition(fmt)}"
    for relation, columns in carried(fmt).items():
        yield f"{relation}: {', '.join(columns)}"
        missing = [name for name, _ in COLUMNS[relation] if name not in columns and name not in ("outcome", "reason")]
        if missing:
            yield f"  unknown: {', '.join(missing)}"
    if not isinstance(fmt, Format):
        yield f"file: {fmt.path}"
        if fmt.zone:
            yield f"times without an offset: {fmt.zone}, unless --zone says otherwise"
    guide = FOLDER / "guides" / f"{fmt.name}.md"
    if guide.is_file():
        yield f"guide: {guide}"


def describe_trial(fmt: AnyFormat, path: Path, trial: Trial) -> Iterator[str]:
    """What became of the first lines of a file."""
    counts = trial.counts
    yield (
        f"{path}: {counts.lines:,} lines tried as {fmt.name}: {counts.facts:,} facts, {counts.rejects:,} rejects,"
        f" {counts.blank:,} blank"
    )
    yield _recognised(fmt, trial)
    for column, count in sorted(counts.mended.items()):
        yield f"mended: {column} of {count:,} lines could not be read and is unknown there"
    for relation, rows in trial.rows.items():
        yield ""
        yield f"{relation}, first {len(rows)}:"
        for row in rows:
            yield "  " + "  ".join(f"{name}={_shown(value)}" for name, value in row.items())
        if trial.unknown[relation]:
            yield f"  unknown in all rows: {', '.join(trial.unknown[relation])}"
    if trial.refusals:
        yield ""
        yield "rejects:"
    for refusal in trial.refusals:
        yield f"  {refusal.lines:,} x {refusal.reason}"
        yield f"    first: line {refusal.first_line}: {refusal.raw[:SHOWN]}"


def _recognised(fmt: AnyFormat, trial: Trial) -> str:
    """Whether the file would be taken for this format by itself."""
    ships = isinstance(fmt, Format) or fmt.path.parent == FOLDER
    named = f"--format {fmt.name if ships else fmt.path}" if not isinstance(fmt, Format) else f"--format {fmt.name}"
    others = [name for name in trial.fits if name != fmt.name]
    if fmt.name not in trial.fits:
        instead = (
            f"; it looks like {', '.join(others)}"
            if others
            else f"; load it with {named}"
            if trial.counts.facts
            else ""
        )
        return f"not recognised as {fmt.name}{instead}"
    if others:
        return f"recognised as {', '.join(trial.fits)}: load it with {named}"
    return f"recognised as {fmt.name}" + ("" if ships else f"; load it with {named}")


def _recognition(fmt: AnyFormat) -> str:
    if isinstance(fmt, Format):
        return f"lines with {_keys(fmt.recognise)}"
    recognition = fmt.recognition
    ways = [f"{_keys(sorted(keys))}" for keys in recognition.keys]
    ways += [f"{_keys(sorted(keys))} and no others" for keys in recognition.exact]
    ways += [f"the pattern {recognition.line}"] if recognition.line else []
    return "records with " + "; or with ".join(ways)


def _keys(keys: tuple[str, ...] | list[str]) -> str:
    return ", ".join(keys)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    cut = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return json.dumps(cut, ensure_ascii=False) if " " in cut or not cut else cut
