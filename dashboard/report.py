"""The weekly report: one CSV a topic, each figure beside that of the week before and the change since.

`report_files` is what both the command and the download button call, so that they give the same bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from dashboard import tables
from dashboard.errors import UserError
from dashboard.filters import Filters, check_zone, epoch_us, start_of_day
from dashboard.output import csv_bytes
from dashboard.snapshot import Snapshot

UNIX = 3
"""The system that a zip names as its maker, whichever made it."""

_WEEK = re.compile(r"(\d{4})-?W(\d\d)", re.IGNORECASE)


@dataclass(frozen=True)
class Topic:
    """Columns of one CSV: `keys` name a row, `counts` are whole numbers (a missing row is 0), `rates` may be unknown.

    `notes` are texts that get a `_previous` column, but no change.
    """

    keys: tuple[str, ...]
    counts: tuple[str, ...]
    rates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures in the order of the columns."""
        return self.counts + self.rates + self.notes


Rows = list[dict[str, Any]]


def report_files(snapshot: Snapshot, week: str, zone: str) -> dict[str, bytes]:
    """The CSVs of an ISO week (2026-W48) in `zone`, by file name."""
    now, before = _week_filters(week, zone)
    first_us = snapshot.span("all").first_us
    has_before = first_us is not None and before.to_us is not None and first_us < before.to_us
    files = {}
    for name, (topic, rows) in _topics(snapshot).items():
        files[f"{name}.csv"] = _csv(topic, rows(now), rows(before) if has_before else None)
    return files


def bundle(files: Mapping[str, bytes]) -> bytes:
    """The files in one zip, which is the same whenever they are."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = UNIX
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED)
    return target.getvalue()


def write_bundle(files: Mapping[str, bytes], path: Path) -> None:
    """Write the files as one zip, making its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bundle(files))
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); name another file with --zip") from None


def write_files(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write the CSVs into `folder`, making it; gives their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); name another folder with --out") from None
    return [folder / name for name in files]


def resolve_week(snapshot: Snapshot, week: str | None, zone: str) -> str:
    """The week asked for, in normal form; without one the last that had ended when the data end.

    Where the data begin later than that, it is the running one. Raises UserError for what is no ISO week.
    """
    check_zone(zone)
    if week is not None:
        return _week_name(_monday(week))
    span = snapshot.span("all")
    if span.newest_us is None or span.first_us is None:
        raise UserError(f"{snapshot.warehouse}: no events yet, so no week to report; load logs first")
    running = week_of(span.newest_us, zone)
    ended = _week_name(_monday(running) - timedelta(days=7))
    return ended if span.first_us < _span(ended, zone)[1] else running


def is_outside(snapshot: Snapshot, week: str, zone: str) -> bool:
    """Whether no event of the data can lie in the week."""
    lo, hi = _span(week, zone)
    span = snapshot.span("all")
    return span.first_us is None or span.newest_us is None or span.newest_us < lo or span.first_us >= hi


def week_of(moment_us: int, zone: str) -> str:
    """The ISO week in which an instant lies in `zone`."""
    day = datetime.fromtimestamp(moment_us // 1_000_000, UTC).astimezone(check_zone(zone)).date()
    return _week_name(day)


def _week_filters(week: str, zone: str) -> tuple[Filters, Filters]:
    start, end = _span(week, zone)
    earlier = _span(_week_name(_monday(week) - timedelta(days=7)), zone)
    return Filters(start, end, zone=zone), Filters(*earlier, zone=zone)


def _span(week: str, zone: str) -> tuple[int, int]:
    """[from, to) of a week in epoch microseconds: local Monday to local Monday, whatever the clock does between."""
    monday, info = _monday(week), check_zone(zone)
    return epoch_us(start_of_day(monday, info)), epoch_us(start_of_day(monday + timedelta(days=7), info))


def _monday(week: str) -> date:
    parts = _WEEK.fullmatch(week.strip())
    try:
        if parts is None:
            raise ValueError
        return date.fromisocalendar(int(parts[1]), int(parts[2]), 1)
    except ValueError:
        raise UserError(f"--week {week!r} is no ISO week; write it as 2026-W48") from None


def _week_name(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


def _topics(snapshot: Snapshot) -> dict[str, tuple[Topic, Callable[[Filters], Rows]]]:
    def rows(name: str) -> Callable[[Filters], Rows]:
        return lambda filters: tables.rows(snapshot, name, filters)

    outcomes = _outcome_columns(snapshot)
    return {
        "funnel": (Topic(("funnel", "position", "stage"), ("count",), ("of_previous", "of_first")), rows("funnel")),
        "partners": (replace(_PARTNERS, counts=_PARTNERS.counts + outcomes), lambda f: _partners(snapshot, f)),
        "retries": (_RETRIES, rows("retries")),
        "flags": (_FLAGS, rows("flags")),
        "no_bids": (Topic(("partner", "reason", "name", "class"), ("no_bids",)), rows("no_bids")),
        "breakers": (_BREAKERS, rows("breaker_time")),
        "rate_limits": (
            Topic(("stream", "partner", "endpoint"), ("requests", "limited"), ("rate",)),
            rows("rate_limits"),
        ),
        "postbacks": (_POSTBACKS, rows("postback_keys")),
        "data_quality": (Topic(("measure", "unit"), ("value",)), rows("data_quality")),
    }


_PARTNERS = Topic(
    ("stream", "partner"),
    ("calls", "calls_sent", "attempts_sent", "not_sent", "retries", "retried", "recovered", "late_checked"),
    ("late_retries", "actual_success", "effective_success", "amplification", "p50_ms", "p95_ms", "p99_ms"),
)
_RETRIES = Topic(
    ("stream", "partner", "trigger", "retry_no"),
    ("retries", "successes"),
    ("bids", "success_rate", "success_low", "success_high"),
)
_FLAGS = Topic(
    ("stream", "partner", "trigger"),
    ("retries", "successes"),
    ("upper_bound", "retries_per_day", "ms_saved_per_day", "bids_at_risk"),
    ("verdict", "last_success", "revenue_at_risk"),
)
_BREAKERS = Topic(("partner", "node", "state"), ("entered", "attempts", "failures", "blocked"), ("seconds",))
_POSTBACKS = Topic(
    ("partner",),
    ("received", "passed_limits", "authentic", "accepted", "unique", "duplicates"),
)


def _outcome_columns(snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(f"{row[0]}_attempts" for row in snapshot.query("select outcome from outcomes order by outcome"))


def _partners(snapshot: Snapshot, filters: Filters) -> Rows:
    """Calls of each partner with its latency and the outcomes of its attempts, which postbacks do not have."""
    rows = tables.rows(snapshot, "calls", filters)
    for row in rows:
        if row["stream"] == "postback":
            row |= dict.fromkeys(_outcome_columns(snapshot))
    by_key = {(row["stream"], row["partner"]): row for row in rows}
    extra: Rows = []
    for name in ("latency", "outcomes"):
        for found in tables.rows(snapshot, name, filters):
            key = ("exchange", found["partner"])
            if key not in by_key:
                by_key[key] = {"stream": key[0], "partner": key[1]}
                extra.append(by_key[key])
            if name == "latency":
                by_key[key] |= {column: found[column] for column in ("p50_ms", "p95_ms", "p99_ms")}
            else:
                by_key[key][f"{found['outcome']}_attempts"] = found["attempts"]
    return sorted(rows + extra, key=lambda row: (row["stream"], row["partner"] is None, row["partner"] or ""))


def _csv(topic: Topic, now: Rows, before: Rows | None) -> bytes:
    earlier = {_key(topic, row): row for row in before or ()}
    seen = {_key(topic, row) for row in now}
    gone: Rows = [dict(zip(topic.keys, key, strict=True)) for key in earlier if key not in seen]
    lines = []
    for row in [*now, *gone]:
        last = earlier.get(_key(topic, row), None if before is None else {})
        lines.append([row.get(key) for key in topic.keys] + list(_figures(topic, row, last)))
    return csv_bytes(_header(topic), lines)


def _key(topic: Topic, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in topic.keys)


def _header(topic: Topic) -> Sequence[str]:
    names = list(topic.keys)
    for figure in topic.figures:
        names += [figure, f"{figure}_previous"]
        if figure not in topic.notes:
            names.append(f"{figure}_change")
    return names


def _figures(topic: Topic, row: Mapping[str, Any], last: Mapping[str, Any] | None) -> Iterable[Any]:
    """Figures of a row; `last` is its row of the week before: {} where that week has none, None without such a week."""
    for figure in topic.figures:
        missing = 0 if figure in topic.counts else None
        value = row.get(figure, missing)
        earlier = None if last is None or (not last and value is None) else last.get(figure, missing)
        yield value
        yield earlier
        if figure not in topic.notes:
            yield _change(value, earlier)


def _change(value: Any, earlier: Any) -> Any:
    if value is None or earlier is None:
        return None
    if isinstance(value, float):
        # Decimal of the shortest text: 0.3 - 0.1 is to read 0.2, as anyone would check it by hand.
        return float(Decimal(repr(value)) - Decimal(repr(float(earlier))))
    return value - earlier
