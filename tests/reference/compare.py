"""Holds the product's tables against the reference: random logs in random files, random ranges, cell for cell."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import open_snapshot
from ingest.load import ingest
from ingest.options import Options
from tests import reference
from tests.reference import Limits, logs
from tests.shown import write_format

KEYS = {
    "funnel": ("funnel", "stage"),
    "losses": ("funnel", "stage", "reason"),
    "outcomes": ("partner", "outcome"),
    "no_bids": ("partner", "reason"),
    "calls": ("stream", "partner"),
    "retries": ("stream", "partner", "trigger", "retry_no"),
    "fate": ("stream", "partner", "fate"),
    "audit": ("rule", "severity", "stream", "partner"),
    "flags": ("stream", "partner", "trigger"),
    "breakers": ("partner", "node", "kind", "from", "state"),
    "rate_limits": ("stream", "partner", "endpoint"),
    "windows": ("key", "endpoint", "window_start", "window_s"),
    "retry_after": ("stream", "key", "endpoint"),
    "orders": ("tenant", "event_type", "external_order_id"),
    "order_faults": ("fault", "tenant", "event_type", "external_order_id"),
    "signatures": ("key",),
    "notices": ("kind", "partner", "currency"),
    "latency": ("partner",),
}
# Cells that are prose here, or that buckets know within `error_bound`.
LOOSE = {
    "no_bids": {"name"},
    "order_faults": {"detail"},
    "latency": {"error_bound", "p50_ms", "p95_ms", "p99_ms"},
}

Row = dict[str, object]
Chosen = tuple[int | None, int | None, list[str] | None]
Run = tuple[list[bytes], bool, list[Chosen]]
Breakers = Mapping[str | None, Limits]


def written(breakers: Breakers) -> str:
    """The settings file that asks for these breakers."""
    lines = [f"breaker_{name} = {value}" for name, value in asdict(breakers[None]).items()]
    for partner, limits in breakers.items():
        if partner is not None:
            lines += [f'[breaker_partners."{partner}"]', *(f"{k} = {v}" for k, v in asdict(limits).items())]
    return "\n".join(lines) + "\n"


def load(
    files: list[bytes], folder: Path, *, apart: bool, breakers: Breakers | None = None, shown: bool = False
) -> Path:
    """A warehouse that holds `files`, loaded in one run or in a run each; `shown` ones are of the format that hides."""
    warehouse = folder / "warehouse"
    if breakers is not None:
        warehouse.mkdir()
        (warehouse / "retrylens.toml").write_text(written(breakers))
    paths = []
    for number, content in enumerate(files):
        path = folder / f"{number}.jsonl"
        path.write_bytes(content)
        paths.append(str(path))
    for run in [[path] for path in paths] if apart else [paths]:
        ingest(run, warehouse, Options(format=str(write_format(folder))) if shown else Options())
    return warehouse


def plain(value: object) -> object:
    """A cell in a form that compares: times as text to the microsecond, money and numbers as numbers."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "") + "Z"
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(cell) for key, cell in value.items()}
    if isinstance(value, list | tuple):
        return [plain(cell) for cell in value]
    return value


def same(want: object, got: object) -> bool:
    if isinstance(want, float) or isinstance(got, float):
        if want is None or got is None:
            return want is got
        return math.isclose(float(want), float(got), rel_tol=1e-9, abs_tol=1e-12)  # type: ignore[arg-type]
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(same(want[key], got[key]) for key in want)
    return want == got


def differences(name: str, want: list[Row], got: list[Row]) -> list[str]:
    """What tells two tables apart, row by row."""
    keys = KEYS[name]
    index = {tuple(plain(row[key]) for key in keys): row for row in got}
    found = [] if len(index) == len(got) else [f"{name}: keys are not unique in {got}"]
    for row in want:
        key = tuple(plain(row[k]) for k in keys)
        mine = index.pop(key, None)
        if mine is None:
            found.append(f"{name} {key}: missing {row}")
            continue
        for column in row.keys() | mine.keys():
            if column in LOOSE.get(name, ()):
                continue
            if not same(plain(row.get(column)), plain(mine.get(column))):
                found.append(f"{name} {key} {column}: expected {row.get(column)!r}, got {mine.get(column)!r}")
        if name == "latency":
            for column in ("p50_ms", "p95_ms", "p99_ms"):
                if not math.isclose(row[column], mine[column], rel_tol=mine["error_bound"]):  # type: ignore[arg-type]
                    found.append(f"{name} {key} {column}: expected {row[column]}, got {mine[column]}")
    return found + [f"{name} {key}: not expected {row}" for key, row in index.items()]


@st.composite
def runs(draw: st.DrawFn, **kinds: Any) -> Run:
    """Files, whether each is loaded by a run of its own, and some filters; `kinds` as `logs.logs` takes them."""
    lines = draw(logs.logs(**kinds))
    chosen = draw(st.lists(logs.filters(lines), min_size=2, max_size=4))
    return draw(logs.splits(lines)), draw(st.booleans()), chosen


def check(
    run: Run, breakers: Breakers | None = None, names: Iterable[str] = tuple(reference.TABLES), *, shown: bool = False
) -> None:
    """Fails when a cell of one of the tables, with or without filters, differs from the reference."""
    files, apart, filters = run
    model = reference.read(reference.load(files), breakers)
    with tempfile.TemporaryDirectory() as folder:
        snapshot = open_snapshot(load(files, Path(folder), apart=apart, breakers=breakers, shown=shown))
        found = []
        for frm, to, partners in [(None, None, None), *filters]:
            chosen = Filters(frm_us=frm, to_us=to, partners=tuple(partners or ()))
            for name in names:
                want = reference.table(name, model, frm, to, partners)
                got = tables.rows(snapshot, name, chosen)
                found += [f"{d}   [{frm}, {to}, {partners}]" for d in differences(name, want, got)]
        assert not found, "\n".join(found[:20])


def hard(examples: int) -> settings:
    """No shrinking: a log that was found is small enough to read, and to make it smaller takes minutes."""
    return settings(
        deadline=None,
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate),
    )
