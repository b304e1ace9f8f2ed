"""Every result table, against a second reading of the specification: random logs, random ranges, cell for cell."""

from __future__ import annotations

import math
import tempfile
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import open_snapshot
from ingest.load import ingest
from tests import reference
from tests.reference import logs

KEYS = {
    "funnel": ("funnel", "stage"),
    "losses": ("funnel", "stage", "reason"),
    "outcomes": ("partner", "outcome"),
    "no_bids": ("partner", "reason"),
    "calls": ("stream", "partner"),
    "retries": ("stream", "partner", "trigger", "retry_no"),
    "fate": ("stream", "partner", "fate"),
    "flags": ("stream", "partner", "trigger"),
    "breakers": ("partner", "node", "kind", "from"),
    "rate_limits": ("stream", "partner", "endpoint"),
    "notices": ("kind", "partner", "currency"),
    "latency": ("partner",),
}
# Cells that are prose here, or that buckets know within `error_bound`.
LOOSE = {"no_bids": {"name"}, "latency": {"error_bound", "p50_ms", "p95_ms", "p99_ms"}}


def load(files: list[bytes], folder: Path, *, apart: bool) -> Path:
    """A warehouse that holds `files`, loaded in one run or in a run each."""
    paths = []
    for number, content in enumerate(files):
        path = folder / f"{number}.jsonl"
        path.write_bytes(content)
        paths.append(str(path))
    for run in [[path] for path in paths] if apart else [paths]:
        ingest(run, folder / "warehouse")
    return folder / "warehouse"


def plain(value: object) -> object:
    """A cell in a form that compares: times as text to the microsecond, money and numbers as numbers."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "") + "Z"
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(cell) for key, cell in value.items()}
    return value


def same(want: object, got: object) -> bool:
    if isinstance(want, float) or isinstance(got, float):
        if want is None or got is None:
            return want is got
        return math.isclose(float(want), float(got), rel_tol=1e-9, abs_tol=1e-12)  # type: ignore[arg-type]
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(same(want[key], got[key]) for key in want)
    return want == got


def differences(name: str, want: list[dict[str, object]], got: list[dict[str, object]]) -> list[str]:
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
def runs(
    draw: st.DrawFn, **kinds: bool
) -> tuple[list[bytes], bool, list[tuple[int | None, int | None, list[str] | None]]]:
    """Files, whether each is loaded by a run of its own, and some filters."""
    files = draw(logs.splits(draw(logs.logs(**kinds))))
    return files, draw(st.booleans()), draw(st.lists(logs.filters(), min_size=2, max_size=4))


def check(run: tuple[list[bytes], bool, list[tuple[int | None, int | None, list[str] | None]]]) -> None:
    files, apart, filters = run
    facts = reference.load(files)
    with tempfile.TemporaryDirectory() as folder:
        snapshot = open_snapshot(load(files, Path(folder), apart=apart))
        found = []
        for frm, to, partners in [(None, None, None), *filters]:
            chosen = Filters(frm_us=frm, to_us=to, partners=tuple(partners or ()))
            for name in reference.TABLES:
                want = reference.table(name, facts, frm, to, partners)
                got = tables.rows(snapshot, name, chosen)
                found += [f"{d}   [{frm}, {to}, {partners}]" for d in differences(name, want, got)]
        assert not found, "\n".join(found[:20])


HARD = settings(
    deadline=None, max_examples=40, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)


@pytest.mark.slow
@HARD
@given(runs(postbacks=False))
def test_exchange_tables_equal_the_reference(run: tuple[list[bytes], bool, list[object]]) -> None:
    check(run)  # type: ignore[arg-type]


@pytest.mark.slow
@HARD
@given(runs(exchange=False))
def test_postback_tables_equal_the_reference(run: tuple[list[bytes], bool, list[object]]) -> None:
    check(run)  # type: ignore[arg-type]


@pytest.mark.slow
@HARD
@given(runs())
def test_all_tables_equal_the_reference(run: tuple[list[bytes], bool, list[object]]) -> None:
    check(run)  # type: ignore[arg-type]
