"""Small warehouses for tests of the pages, made by the command line from simulated and from hand-written logs."""

import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.conftest import REPOSITORY

BEGIN = datetime(2026, 9, 14, 10, tzinfo=UTC)
HOSTILE = (
    "<b style='background:url(http://evil.invalid/a.png)'>bold</b>",
    "<img src=http://evil.invalid/b.png onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<a href='http://evil.invalid'>go</a>",
    "![seen](http://evil.invalid/c.png)",
    "[click](http://evil.invalid/d)",
    "http://evil.invalid/auto",
    '=HYPERLINK("http://evil.invalid")',
    ":red[danger]",
    ":material/home: :smile:",
    "$x^2$ and $$y$$",
    "**bold** _em_ `code` ~~gone~~",
    "# title",
    "| a | b |",
    "%{x} {partner} {0}",
    "right\u202eto\u2066left",
    "emoji \U0001f600 \u00fc\u0301",
    "'; drop table attempts; --",
    "dsp-" + "9" * 10_000,
    "longer " + "word " * 2_000,
    "javascript:alert(1)",
    "../../../../etc/passwd",
    "line\nbreak\ttab\x00nul\x1b[2J",
    "zero\u200bwidth\u200d\ufeff",
    "marks Z" + "\u0351\u0301\u0323" * 60,
    "%{y}<br>%{customdata}<extra>gone</extra>",
    "</style><style>*{display:none}</style>",
    "'\"`\\ & &lt; &#36; {} {0} {{x}} %s %(a)s",
    "   ",
)
LONE = "lone \ud800 half"
"""In no table but that of the rejects: it is no text."""

HOSTILE_FILE = "=1+1 <img src=x> ![x](http:evil.invalid) :red[a] $x$ %{x} \u202e\U0001f600"


def command(*arguments: object) -> None:
    """Runs `retrylens`; its messages stand in the error when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "dashboard.cli", *map(str, arguments)], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def write(path: Path, events: Iterable[dict[str, Any]]) -> Path:
    """Events as NDJSON."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def simulated(folder: Path) -> Path:
    """Two streams of simulated logs and a few lines that are none."""
    logs = folder / "logs"
    command("simulate", "--out", logs, "--seed", 11, "--minutes", 45, "--auctions-per-second", 0.4)
    (logs / "truth.json").unlink()
    (logs / "broken.jsonl").write_text(
        '{"event":"postback","ts":"2026-09-14T10:00:00Z","key_id":"key-x","http_status":200}\n'
        '{"event":"attempt","ts":"never"}\nnot json at all\n',
        encoding="utf-8",
    )
    command("ingest", logs, "--warehouse", folder / "warehouse")
    return folder / "warehouse"


def hostile(folder: Path) -> Path:
    """Partners, keys, nodes, endpoints and files whose names try to be more than names, wherever one is shown."""
    logs = folder / "logs"
    logs.mkdir()
    events = hostile_events()
    for place, name in enumerate(("hostile", HOSTILE_FILE)):
        write(logs / f"{name}.jsonl", events[place::2])
    command("ingest", logs, "--warehouse", folder / "warehouse")
    return folder / "warehouse"


def hostile_events() -> list[dict[str, Any]]:
    """For each name: retries that never help, a breaker that stays open, 429s, no-bids, a win, postbacks.

    The first partner's name is a key's as well.
    """
    events: list[dict[str, Any]] = []
    for place, name in enumerate((*HOSTILE, LONE)):
        for number in range(60):
            at = BEGIN + timedelta(seconds=20 * number + place)
            events += hostile_call(name, f"{name[:60]}-{place}-{number}", at, number)
        opened = {"ts": stamp(BEGIN + timedelta(minutes=9)), "node": name, "state_from": "closed", "state_to": "open"}
        events.append({"event": "breaker", "partner": name, "reason": name, **opened})
        events += hostile_postbacks(f"key {name}" if place else name, name, BEGIN + timedelta(seconds=place))
    return events


def hostile_call(name: str, auction: str, at: datetime, number: int) -> list[dict[str, Any]]:
    """A failed original and a failed retry; every fifth call ends in a 429, a no-bid and a bid that wins."""
    common = {"event": "attempt", "auction_id": auction, "partner": name, "node": name, "region": name}
    calls = [(500, 0), (500, 60)] if number % 5 else [(429, 0), (204, 60), (200, 120)]
    attempts = [
        {**common, "ts": stamp(at + timedelta(milliseconds=later)), "http_status": status, "latency_ms": 30 + place}
        | ({"bids": 1, "price": "1.5"} if status == 200 else {})
        | ({"error_type": name} if status == 500 else {})
        for place, (status, later) in enumerate(calls)
    ]
    if number % 5:
        return attempts
    won = {"event": "win", "ts": stamp(at + timedelta(seconds=1)), "auction_id": auction, "partner": name}
    return [*attempts, won | {"price": "1.5", "currency": name[:40]}]


def hostile_postbacks(key: str, name: str, at: datetime) -> list[dict[str, Any]]:
    """A key that is throttled more often than not."""
    return [
        {
            "event": "postback",
            "ts": stamp(at + timedelta(seconds=number)),
            "key_id": key,
            "endpoint": name,
            "event_type": name,
            "external_order_id": f"{name[:50]}-{number // 2}",
            "http_status": 429 if number % 3 else 200,
            "error_code": name,
        }
        for number in range(30)
    ]


def fifty(folder: Path) -> Path:
    """Fifty partners and as many keys: more of each than a chart draws."""
    events: list[dict[str, Any]] = []
    for place in range(50):
        name, at = f"dsp-{place:02d}", BEGIN + timedelta(seconds=place)
        for number in range(5):
            events += hostile_call(name, f"{name}-{number}", at + timedelta(minutes=number), number)
        moved = {"node": "ex-a", "state_from": "closed", "state_to": "open"}
        events.append({"event": "breaker", "partner": name, "ts": stamp(at + timedelta(minutes=3)), **moved})
        events += hostile_postbacks(f"key-{place:02d}", "conversion", at)
    command("ingest", write(folder / "fifty.jsonl", events), "--warehouse", folder / "warehouse")
    return folder / "warehouse"


def stamp(at: datetime) -> str:
    """RFC 3339."""
    return at.isoformat().replace("+00:00", "Z")


def empty(folder: Path) -> Path:
    """A published warehouse without any event."""
    command("ingest", write(folder / "empty.jsonl", []), "--warehouse", folder / "warehouse")
    return folder / "warehouse"


def one_partner(folder: Path) -> Path:
    """One partner that only ever answers: no retries, no breaker, no notices, no postbacks."""
    events = [
        {
            "event": "attempt",
            "ts": stamp(BEGIN + timedelta(seconds=number)),
            "auction_id": f"a-{number}",
            "partner": "calm",
            "http_status": 204,
        }
        for number in range(30)
    ]
    command("ingest", write(folder / "calm.jsonl", events), "--warehouse", folder / "warehouse")
    return folder / "warehouse"
