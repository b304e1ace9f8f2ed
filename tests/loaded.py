"""Warehouses for tests of the read side: native log lines loaded as a user loads them, then opened."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dashboard.snapshot import Snapshot, open_snapshot
from ingest.load import ingest

Event = dict[str, Any]


def load(folder: Path, events: Iterable[Event]) -> Path:
    """A warehouse in `folder` that holds `events`."""
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    ingest([str(log)], folder / "warehouse")
    return folder / "warehouse"


def opened(folder: Path, events: Iterable[Event]) -> Snapshot:
    """The snapshot of a warehouse that holds `events`."""
    return open_snapshot(load(folder, events))


def attempt(ts: str, auction: str, partner: str = "p", **values: Any) -> Event:
    """An attempt; it is a no-bid unless told otherwise."""
    return {"event": "attempt", "ts": ts, "auction_id": auction, "partner": partner, "http_status": 204} | values


def postback(ts: str, key: str = "k", order: str | None = None, **values: Any) -> Event:
    """An accepted postback of the key, for an order."""
    given = {"event": "postback", "ts": ts, "key_id": key, "http_status": 200, "external_order_id": order}
    return given | values


def at(second: int, micro: int = 0) -> str:
    """An instant of 2026-09-14, seconds after 11:00 UTC."""
    hours, rest = divmod(second, 3600)
    return f"2026-09-14T{11 + hours:02d}:{rest // 60:02d}:{rest % 60:02d}.{micro:06d}Z"
