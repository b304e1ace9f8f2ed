"""A replay as bytes: one JSON object, CSV rows, or tables to read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dashboard.errors import UserError
from dashboard.filters import Filters, utc
from dashboard.output import csv_bytes
from dashboard.text import Format, json_text, scalar, visible
from dashboard.whatif.policy import Policy
from dashboard.whatif.replay import Replay

Row = dict[str, Any]

LINES = (
    ("calls", "calls", None),
    ("calls sent", "calls_sent_before", "calls_sent_after"),
    ("attempts sent", "attempts_before", "attempts_after"),
    ("amplification", "amplification_before", "amplification_after"),
    ("effective success", "effective_success_before", "effective_success_after"),
)
"""What has a before and an after, for reading."""

LOSSES = (
    ("attempts saved", "attempts_saved"),
    ("ms saved", "ms_saved"),
    ("calls cut", "calls_cut"),
    ("late retries saved", "late_saved"),
    ("answered calls lost", "answered_lost"),
    ("calls with a bid lost", "bids_lost"),
    ("won calls lost", "wins_lost"),
    ("revenue lost", "revenue_lost"),
    ("retries with unknown time, kept", "unjudged"),
    ("calls left out: earlier attempts not shown", "calls_hidden"),
)
BREAKER = (("attempts blocked by the breaker", "blocked"), ("openings of the breaker", "opened"))
SHOWN = ("partner", "attempts_before", "attempts_after", "attempts_saved", "answered_lost", "bids_lost", "wins_lost")
ESTIMATES = ("partner", "trigger", "added", "observed", "successes", "successes_low", "successes_high", "bids")


def render(replay: Replay, policy: Policy, filters: Filters, kind: Format) -> bytes:
    """The replay in one of the formats; Parquet is none of them."""
    if kind is Format.JSON:
        return f"{_json(whole(replay, policy, filters))}\n".encode()
    if kind is Format.CSV:
        return _csv(replay)
    return _text(replay).encode()


def write(content: bytes, out: Path | None) -> None:
    """Write to a file, else to standard output."""
    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        out.write_bytes(content)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}); name another file with --out") from None


def whole(replay: Replay, policy: Policy, filters: Filters) -> Row:
    """The replay as one object; money keeps its digits, what is unknown is null."""
    return {
        "policy": policy.fields(),
        "range": {
            "from": None if filters.frm_us is None else utc(filters.frm_us),
            "to": None if filters.to_us is None else utc(filters.to_us),
            "partners": list(filters.partners),
        },
        "totals": replay.totals,
        "partners": replay.partners,
        "triggers": replay.triggers,
        "estimate": replay.estimate | {"rows": replay.estimates},
    }


def _json(fields: Row) -> str:
    """An object with an entry a line, and an item of its lists a line."""
    lines = []
    for name, value in fields.items():
        if isinstance(value, list) and value:
            items = ",\n".join(f"    {json_text(item)}" for item in value)
            lines.append(f"  {json_text(name)}: [\n{items}\n  ]")
        else:
            lines.append(f"  {json_text(name)}: {json_text(value)}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _csv(replay: Replay) -> bytes:
    """A row for everything, for each partner, for each partner and trigger; `*` stands for all."""
    rows = [
        {"partner": "*", "trigger": "*"} | replay.totals,
        *({"partner": row["partner"], "trigger": "*"} | row for row in replay.partners),
        *replay.triggers,
    ]
    columns = list(rows[0])
    return csv_bytes(columns, [[row.get(column) for column in columns] for row in rows])


def _text(replay: Replay) -> str:
    totals = replay.totals
    both = [(title, totals[before], totals[after] if after else totals[before]) for title, before, after in LINES]
    parts = [
        _table(("", "before", "after"), both),
        _table(("removed", "exact"), [(title, totals[name]) for title, name in LOSSES]),
    ]
    if totals["blocked"] is not None:
        parts.append(_table(("of these", "exact"), [(title, totals[name]) for title, name in BREAKER]))
    parts.append(_table(SHOWN, [[row[name] for name in SHOWN] for row in replay.partners]))
    parts.append(_estimate(replay))
    return "\n".join(parts)


def _estimate(replay: Replay) -> str:
    told = replay.estimate
    lines = [
        ("retries added, at most one a call", told["added"]),
        ("of them never tried there: unknown", told["added_unknown"]),
        ("successes expected of the rest", _interval(told, "successes")),
        ("bids expected of the rest", _interval(told, "bids")),
    ]
    rows = [[row[name] for name in ESTIMATES] for row in replay.estimates]
    return _table(("added", "estimate"), lines) + (f"\n{_table(ESTIMATES, rows)}" if rows else "")


def _interval(told: Row, name: str) -> str | None:
    if told[name] is None:
        return None
    return f"{told[name]:.1f} ({told[f'{name}_low']:.1f} to {told[f'{name}_high']:.1f})"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Aligned columns: names to the left, figures to the right."""
    cells = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    names = [at for at, name in enumerate(head) if name in ("", "removed", "of these", "added", "partner", "trigger")]
    names = [at for at in names if at < 2 and not (head[at] == "added" and at)]
    return "".join(
        "  ".join(
            c.ljust(w) if at in names else c.rjust(w) for at, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        + "\n"
        for row in cells
    )


def _cell(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        return visible(scalar(value)) or "none known"
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else visible(scalar(value))
