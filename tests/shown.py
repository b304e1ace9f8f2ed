"""A foreign format for tests: native events that may show only the last attempt of a call, lack a status or a key."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dashboard.snapshot import Snapshot, open_snapshot
from ingest.formats.registry import native_format
from ingest.load import ingest
from ingest.options import Options
from tests.loaded import Event, at, attempt, postback

UNKNOWN = {"postback": ["key_id", "http_status"]}


def format_text() -> str:
    """The format file: every native key feeds itself, but for bodies."""
    events = {
        event: [field.key for field in relation.fields if field.key not in ("body", "dealid")]
        for relation in native_format().foreign_relations
        for event in relation.events
    }
    columns = sorted({"event"} | {key for keys in events.values() for key in keys})
    parts = ['name = "shown"', 'title = "Native events that may hide a part"', "[split]", 'kind = "json"']
    parts += ["[split.columns]", *(f'"{key}" = "{key}"' for key in columns), "[recognise]", 'keys = [["event", "ts"]]']
    for event, keys in events.items():
        parts += ["[[rows]]", f'event = "{event}"', f"when = \"event = '{event}'\""]
        parts += [f"unknown = {json.dumps(UNKNOWN[event])}"] if event in UNKNOWN else []
        parts += ["[rows.columns]", *(f"{key} = '\"{key}\"'" for key in keys)]
    return "\n".join(parts) + "\n"


def write_format(folder: Path) -> Path:
    """The format file in a folder."""
    path = folder / "shown.toml"
    path.write_text(format_text(), encoding="utf-8")
    return path


def load_shown(folder: Path, events: Iterable[Event]) -> Path:
    """A warehouse in `folder` that holds `events`, read as this format."""
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    ingest([str(log)], folder / "warehouse", Options(format=str(write_format(folder))))
    return folder / "warehouse"


def opened_shown(folder: Path, events: Iterable[Event]) -> Snapshot:
    """The snapshot of a warehouse that holds `events`."""
    return open_snapshot(load_shown(folder, events))


def proxied() -> list[Event]:
    """Calls of three partners behind proxies: two count attempts, one does not; one of them shows all of some calls."""
    events = []
    for number in range(40):
        told: dict[str, Any] = {"last_only": True, "http_status": 503 if number % 4 == 0 else 200}
        events.append(attempt(at(number), f"a{number}", "counting", attempt_count=1 + number % 3, **told))
        events.append(attempt(at(number), f"b{number}", "silent", **told))
    return events


def unanswered() -> list[Event]:
    """Postbacks without a status, half of them without a key."""
    return [
        postback(at(number), "k" if number % 2 else None, f"o{number // 2}", http_status=None)  # type: ignore[arg-type]
        for number in range(20)
    ]
