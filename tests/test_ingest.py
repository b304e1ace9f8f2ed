"""Loads as wholes: the same facts from every container, nothing counted twice, every line in exactly one place."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dashboard import tables
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot, open_snapshot
from ingest.facts.columns import COLUMNS
from ingest.load import ingest
from ingest.options import Options
from ingest.report import FileReport, RunReport
from ingest.simulate import simulate
from tests.conftest import REPOSITORY
from tests.loaded import Event, at, attempt, postback
from tests.reference.logs import BLANK, BROKEN

TABLES = ("funnel", "losses", "outcomes", "no_bids", "calls", "retries", "fate", "flags", "breakers", "rate_limits",
          "notices", "latency")  # fmt: skip


def lines(events: Iterable[Event]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def write(path: Path, events: Iterable[Event]) -> str:
    path.write_bytes(lines(events))
    return str(path)


def load(warehouse: Path, *paths: str, **options: Any) -> FileReport:
    """Load files in one run; gives what it says of the last."""
    return ingest(paths, warehouse, Options(**options)).files[-1]


def counts(report: FileReport) -> tuple[int, ...]:
    """(lines, facts, rejects, blank, repeated)."""
    return report.lines, report.facts, report.rejects, report.blank, report.repeated


def facts(snapshot: Snapshot) -> dict[str, list[tuple[Any, ...]]]:
    """Every fact, in an order that no load decides."""
    named = {name: ", ".join(f'"{column}"' for column, _ in columns) for name, columns in COLUMNS.items()}
    return {name: snapshot.query(f"select {columns} from {name} order by all") for name, columns in named.items()}


def results(snapshot: Snapshot) -> dict[str, list[dict[str, Any]]]:
    return {name: tables.rows(snapshot, name, Filters()) for name in TABLES}


def everything(warehouse: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    snapshot = open_snapshot(warehouse)
    return facts(snapshot), results(snapshot)


# ---------------------------------------------------------------------------------------------------------------------
# Containers

#: Every kind of event, each with all its keys and with the required ones alone; the values are texts, as CSV has them.
EVERY_KIND: list[dict[str, str]] = [
    {"event": "auction", "ts": at(0), "auction_id": "007", "source": "ssp", "placement": "top", "tmax_ms": "300",
     "imps": "2", "http_status": "200", "latency_ms": "210.5", "winner": "p", "price": "1.25", "currency": "EUR"},
    {"event": "auction", "ts": at(1), "auction_id": "18446744073709551617"},
    {"event": "attempt", "ts": at(0, 7), "auction_id": "007", "partner": "p", "attempt": "1", "request_id": "r",
     "tmax_ms": "260", "budget_ms": "300", "timeout_ms": "120", "elapsed_ms": "0", "latency_ms": "15",
     "error_type": "ECONNRESET, \"peer\"", "breaker": "closed", "source": "ssp", "placement": "top",
     "region": "eu", "node": "n1", "event_id": "e1"},
    {"event": "attempt", "ts": at(0, 90_000), "auction_id": "007", "partner": "p", "attempt": "2",
     "http_status": "200", "elapsed_ms": "90", "latency_ms": "30", "backoff_ms": "5",
     "body": '{"seatbid":[{"bid":[{"price":2.5}]}],"cur":"EUR"}', "event_id": "e2"},
    {"event": "attempt", "ts": at(2), "auction_id": "B", "partner": "q", "http_status": "200", "nbr": "3.0"},
    {"event": "attempt", "ts": at(3), "auction_id": "C", "partner": "q", "not_sent": "breaker", "breaker": "open"},
    {"event": "attempt", "ts": at(4), "auction_id": "D", "partner": "q", "http_status": "429", "retry_after": "30"},
    {"event": "attempt", "ts": at(5), "auction_id": "E", "partner": " q ", "http_status": "200", "bids": "1",
     "price": "0.5", "reject_reason": "floor", "latency_ms": "soon"},
    {"event": "win", "ts": at(1), "auction_id": "007", "imp_id": "1", "partner": "p", "price": "2.5",
     "currency": "EUR", "http_status": "200", "attempt": "1", "event_id": "e1"},
    {"event": "billing", "ts": at(2), "auction_id": "007", "imp_id": "1", "price": "${AUCTION_PRICE}"},
    {"event": "loss", "ts": at(2), "auction_id": "E", "partner": " q ", "loss_reason": "102"},
    {"event": "impression", "ts": at(3), "auction_id": "007", "imp_id": "1"},
    {"event": "click", "ts": at(4), "auction_id": "007", "imp_id": "1", "click_id": "c1"},
    {"event": "breaker", "ts": at(0), "partner": "p", "state_to": "open", "state_from": "closed", "node": "n1",
     "reason": "50 % failed"},
    {"event": "breaker", "ts": at(9), "partner": "p", "state_to": "HALF-OPEN"},
    {"event": "postback", "ts": at(0), "key_id": "k", "http_status": "200", "tenant": "t", "endpoint": "/v1/conv",
     "method": "POST", "event_type": "sale", "external_order_id": "o1", "accepted": "true", "error_code": "NONE",
     "retry_after": "1", "limit": "600", "window_s": "60", "conversion_id": "cv", "duplicate": "false",
     "idempotency_key": "i", "idempotent_replay": "false", "body_hash": "b1", "signature_hash": "s1",
     "x_timestamp": at(0), "latency_ms": "12", "amount": "10.000001", "currency": "UAH", "client_hash": "ch",
     "click_id": "c1", "event_id": "e9"},
    {"event": "postback", "ts": at(8), "key_id": "k", "http_status": "503"},
]  # fmt: skip
#: What becomes of them: two values are mended and all are facts.
MENDED = {"latency_ms": 1, "price": 1}


def as_csv(events: list[dict[str, str]]) -> bytes:
    columns = list(dict.fromkeys(key for event in events for key in event))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(events)
    return text.getvalue().encode()


def as_parquet(events: list[dict[str, str]]) -> bytes:
    columns = dict.fromkeys(key for event in events for key in event)
    table = pa.table({key: pa.array([event.get(key) for event in events], pa.string()) for key in columns})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


CONTAINERS = {
    "gz": lambda events: gzip.compress(lines(events)),
    "zst": lambda events: zstandard.ZstdCompressor().compress(lines(events)),
    "csv": as_csv,
    "csv.gz": lambda events: gzip.compress(as_csv(events)),
    "parquet": as_parquet,
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts and tables of the events as NDJSON."""
    folder = tmp_path_factory.mktemp("plain")
    report = load(folder / "w", write(folder / "log.jsonl", EVERY_KIND))
    assert counts(report) == (17, 17, 0, 0, 0)
    assert report.mended == MENDED
    return everything(folder / "w")


def test_every_kind_becomes_a_fact_with_its_columns(plain: tuple[dict[str, Any], dict[str, Any]]) -> None:
    held, shown = plain
    assert {name: len(rows) for name, rows in held.items()} == {
        "attempts": 6, "auctions": 2, "notices": 5, "breaker_events": 2, "postbacks": 2,
    }  # fmt: skip
    for name, columns in COLUMNS.items():
        for place, (column, _) in enumerate(columns):
            unheard = (name, column) in {
                ("auctions", "event_id"), ("breaker_events", "event_id"),
                ("attempts", "attempt_count"), ("attempts", "last_only"),
            }  # fmt: skip
            assert unheard or any(row[place] is not None for row in held[name]), f"{name}.{column} is never there"
    assert {row["kind"] for row in shown["notices"]} == {"win", "billing", "loss", "impression", "click"}
    assert {row["stage"]: row["count"] for row in shown["funnel"] if row["funnel"] == "call"}["clicked"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_facts_and_tables(
    plain: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path, container: str
) -> None:
    path = tmp_path / f"log.{container}"
    path.write_bytes(CONTAINERS[container](EVERY_KIND))
    report = load(tmp_path / "w", str(path))
    assert counts(report) == (17, 17, 0, 0, 0)
    assert report.mended == MENDED
    assert everything(tmp_path / "w") == plain


@pytest.mark.slow
@pytest.mark.parametrize("container", ["jsonl", "zst", "csv", "parquet"])
def test_standard_input_gives_the_same_facts_and_tables(
    plain: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path, container: str
) -> None:
    data = lines(EVERY_KIND) if container == "jsonl" else CONTAINERS[container](EVERY_KIND)
    done = subprocess.run(
        [sys.executable, "-m", "dashboard.cli", "ingest", "-", "--warehouse", str(tmp_path / "w"), "--json"],
        cwd=REPOSITORY, input=data, capture_output=True, check=False,
    )  # fmt: skip
    if container == "parquet":
        assert done.returncode == 1, "Parquet is read from its end"
        assert b"-: refused: " in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["totals"]["facts"] == 17
    assert everything(tmp_path / "w") == plain


# ---------------------------------------------------------------------------------------------------------------------
# Sameness

DAY = 86_400


def seen(second: int, event_id: str = "e", **values: Any) -> Event:
    return attempt(at_day(second), "A", event_id=event_id) | values


def at_day(second: int, micro: int = 0) -> str:
    """An instant, seconds after 2026-09-14 11:00 UTC, days later too."""
    moment = datetime(2026, 9, 14, 11) + timedelta(seconds=second, microseconds=micro)
    return f"{moment.isoformat(timespec='microseconds')}Z"


@pytest.mark.slow
@pytest.mark.parametrize("apart", [False, True], ids=["one run", "a run each"])
@pytest.mark.parametrize(
    ("instants", "kept"),
    [
        ([at(0), at(0)], 1),
        ([at_day(0), at_day(7 * DAY)], 1),
        ([at_day(0), at_day(7 * DAY, 1)], 2),
        ([at_day(7 * DAY), at_day(0)], 1),
        ([at_day(7 * DAY, 1), at_day(0)], 2),
        ([at_day(0), at_day(5 * DAY), at_day(10 * DAY)], 2),
        ([at_day(0), at_day(8 * DAY), at_day(9 * DAY)], 2),
        ([at_day(8 * DAY), at_day(0), at_day(4 * DAY)], 2),
    ],
)
def test_an_event_id_is_looked_for_within_seven_days_of_those_that_stay(
    tmp_path: Path, instants: list[str], kept: int, apart: bool
) -> None:
    paths = [
        write(tmp_path / f"{number}.jsonl", [attempt(ts, f"A{number}", event_id="e")])
        for number, ts in enumerate(instants)
    ]
    runs = [ingest(run, tmp_path / "w") for run in ([[path] for path in paths] if apart else [paths])]
    totals = [run.totals() for run in runs]
    assert sum(t["facts"] for t in totals) == kept
    assert sum(t["repeated"] for t in totals) == len(instants) - kept
    assert open_snapshot(tmp_path / "w").query("select count(*) from attempts") == [(kept,)]


def test_an_event_id_is_unique_for_its_kind_of_event_only(tmp_path: Path) -> None:
    kinds = [
        {"event": kind, "ts": at(0), "auction_id": "A", "event_id": "e"} for kind in ("win", "billing", "win", "click")
    ]
    report = load(tmp_path / "w", write(tmp_path / "a.jsonl", [*kinds, attempt(at(0), "A", event_id="e")]))
    assert counts(report) == (5, 4, 0, 0, 1)


def test_an_event_id_alone_decides_whatever_else_the_line_says(tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    first = [seen(0), seen(1, price=5, partner="other"), seen(2, "f"), seen(3, None), seen(3, None), seen(3, "")]
    assert counts(load(warehouse, write(tmp_path / "a.jsonl", first))) == (6, 5, 0, 0, 1)
    second = [seen(9, "f"), seen(9, "F"), seen(3, None)]
    assert counts(load(warehouse, write(tmp_path / "b.jsonl", second))) == (3, 2, 0, 0, 1)
    (outcome,) = tables.rows(open_snapshot(warehouse), "outcomes", Filters())
    assert (outcome["partner"], outcome["attempts"]) == ("p", 7)


@pytest.mark.slow
def test_with_dedup_equal_lines_are_dropped_within_and_across_its_loads(tmp_path: Path) -> None:
    warehouse, one, two, three = tmp_path / "w", attempt(at(0), "A"), attempt(at(1), "B"), attempt(at(2), "C")
    assert counts(load(warehouse, write(tmp_path / "a.jsonl", [one]))) == (1, 1, 0, 0, 0)
    report = load(warehouse, write(tmp_path / "b.jsonl", [one, two, two]), dedup=True)
    assert counts(report) == (3, 2, 0, 0, 1), "a load without --dedup left no hash to compare with"
    assert counts(load(warehouse, write(tmp_path / "c.jsonl", [two, three, one]), dedup=True)) == (3, 1, 0, 0, 2)
    assert counts(load(warehouse, write(tmp_path / "d.jsonl", [three, three, three]))) == (3, 3, 0, 0, 0)
    crlf = lines([two]).replace(b"\n", b"\r\n") + lines([two]).replace(b" ", b"  ")
    (tmp_path / "e.jsonl").write_bytes(crlf)
    report = load(warehouse, str(tmp_path / "e.jsonl"), dedup=True)
    assert counts(report) == (2, 1, 0, 0, 1), "a line is its bytes without the line end"


def test_without_dedup_equal_lines_are_events(tmp_path: Path) -> None:
    win = {"event": "win", "ts": at(0), "auction_id": "A", "imp_id": "1", "partner": "p", "price": 1000}
    load(tmp_path / "w", write(tmp_path / "a.jsonl", [attempt(at(0), "A", http_status=200, bids=1), win, win, win]))
    (row,) = tables.rows(open_snapshot(tmp_path / "w"), "notices", Filters())
    assert (row["deliveries"], row["unique"], row["duplicates"], float(row["revenue"])) == (3, 1, 2, 1.0)


def test_dedup_and_event_ids_do_not_count_a_line_twice(tmp_path: Path) -> None:
    report = load(tmp_path / "w", write(tmp_path / "a.jsonl", [seen(0), seen(0), seen(1)]), dedup=True)
    assert counts(report) == (3, 1, 0, 0, 2)


# ---------------------------------------------------------------------------------------------------------------------
# Refused files, loads, mended


def test_a_refused_file_stops_no_other_and_loads_when_mended(tmp_path: Path) -> None:
    warehouse, bad = tmp_path / "w", tmp_path / "b.jsonl.gz"
    bad.write_bytes(gzip.compress(lines([attempt(at(1), "B"), attempt(at(2), "C")]))[:-9])
    good, other = write(tmp_path / "a.jsonl", [attempt(at(0), "A")]), write(tmp_path / "c.jsonl", [attempt(at(3), "D")])
    report = ingest([good, str(bad), other], warehouse)
    assert [file.status for file in report.files] == ["loaded", "refused", "loaded"]
    assert counts(report.files[1]) == (0, 0, 0, 0, 0)
    assert report.files[1].reason
    snapshot = open_snapshot(warehouse)
    assert snapshot.query("select count(*) from attempts") == [(2,)]
    assert tables.rows(snapshot, "rejects", Filters()) == []
    bad.write_bytes(gzip.compress(lines([attempt(at(1), "B"), attempt(at(2), "C")])))
    report = ingest([good, str(bad), other], warehouse)
    assert [(file.status, file.lines) for file in report.files] == [("unchanged", 0), ("loaded", 2), ("unchanged", 0)]
    loads = tables.rows(open_snapshot(warehouse), "loads", Filters())
    assert sorted((Path(row["file"]).name, row["status"], row["lines"]) for row in loads) == [
        ("a.jsonl", "loaded", 1),
        ("a.jsonl", "unchanged", 0),
        ("b.jsonl.gz", "loaded", 2),
        ("b.jsonl.gz", "refused", 0),
        ("c.jsonl", "loaded", 1),
        ("c.jsonl", "unchanged", 0),
    ]
    refused = next(row for row in loads if row["status"] == "refused")
    assert refused["reason"]
    assert all(row["reason"] is None for row in loads if row["status"] != "refused")


def test_a_file_of_which_no_line_is_a_fact_waits_for_its_zone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [attempt("2026-09-14T14:00:00", "A"), attempt("2026-09-14T14:00:01", "B")])
    report = load(tmp_path / "w", path)
    assert (report.status, counts(report)) == ("refused", (0, 0, 0, 0, 0))
    assert "zone" in (report.reason or "")
    assert tables.rows(open_snapshot(tmp_path / "w"), "rejects", Filters()) == []
    assert counts(load(tmp_path / "w", path, zone="Europe/Kyiv")) == (2, 2, 0, 0, 0)
    newest = open_snapshot(tmp_path / "w").query("select max(ts)::varchar from attempts")
    assert newest == [("2026-09-14 11:00:01",)]


def test_values_that_do_not_cast_are_counted_by_key_and_the_line_stays(tmp_path: Path) -> None:
    events = [
        attempt(at(0), "A", latency_ms="soon", attempt=1.5, nbr="x", breaker="ajar", retry_after="-1"),
        attempt(at(1), "B", latency_ms=-1, price="free", http_status=200),
        postback(at(2), amount="ten", limit="many", duplicate="perhaps"),
        postback(at(3), amount="10", limit="", duplicate=None, latency_ms=[1]),
    ]
    text = lines(events) + b'{"event":"attempt","ts":"%s","auction_id":"C","partner":"p","latency_ms":NaN}\n' % (
        at(4).encode()
    )
    (tmp_path / "a.jsonl").write_bytes(text)
    report = load(tmp_path / "w", str(tmp_path / "a.jsonl"))
    assert counts(report) == (5, 5, 0, 0, 0)
    mended = {
        "latency_ms": 4, "attempt": 1, "retry_after": 1, "price": 1, "amount": 1, "limit": 1, "duplicate": 1,
    }  # fmt: skip
    assert report.mended == mended
    snapshot = open_snapshot(tmp_path / "w")
    (row,) = tables.rows(snapshot, "loads", Filters())
    assert row["mended"] == mended
    held = snapshot.query("select latency_ms, attempt, retry_after_s, price from attempts order by ts")
    assert held == [(None, None, None, None)] * 3


def test_a_reject_names_its_file_line_offset_and_reason(tmp_path: Path) -> None:
    good = lines([attempt(at(0), "A")])
    (tmp_path / "a.jsonl").write_bytes(good + b"\n" + b'{"event":"attempt"}\r\n' + good + b"[1]\n")
    load(tmp_path / "w", str(tmp_path / "a.jsonl"))
    rows = tables.rows(open_snapshot(tmp_path / "w"), "rejects", Filters())
    assert [(Path(row["file"]).name, row["line"], row["offset"]) for row in rows] == [
        ("a.jsonl", 3, len(good) + 1),
        ("a.jsonl", 5, 2 * len(good) + 22),
    ]
    assert all(row["reason"] for row in rows)


def test_loads_say_what_the_report_said(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "a.jsonl", [attempt(at(0), "A", latency_ms="x"), attempt(at(0), "A", event_id="e")]),
        write(tmp_path / "b.jsonl", [attempt(at(0), "A", event_id="e"), attempt("never", "B")]),
    ]
    report = ingest(paths, tmp_path / "w")
    names = ("file", "format", "status", "reason", "lines", "facts", "rejects", "blank", "repeated", "mended")
    said = [{name: file.as_dict()[name] for name in names} for file in report.files]
    rows = tables.rows(open_snapshot(tmp_path / "w"), "loads", Filters())
    assert sorted(({name: row[name] for name in names} for row in rows), key=lambda row: row["file"]) == said
    assert all(row["started"] <= row["finished"] for row in rows)
    assert [counts(file) for file in report.files] == [(2, 2, 0, 0, 0), (2, 0, 1, 0, 1)]
    assert report.totals()["lines"] == 4


# ---------------------------------------------------------------------------------------------------------------------
# Whatever the lines: each in one place

GOOD = [
    lines([attempt(at(second), f"A{second % 3}", event_id=event_id)]).rstrip()
    for second, event_id in ((0, "e1"), (1, "e1"), (2, "e2"), (3, None), (4, None), (5, None))
] + [lines([postback(at(6), order="o")]).rstrip(), lines([{"event": "win", "ts": at(7), "auction_id": "A0"}]).rstrip()]
WRAPPERS = {
    "jsonl": lambda data: data,
    "log": lambda data: data.replace(b"\n", b"\r\n"),
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor().compress,
}
KINDS = st.sampled_from(["good"] * 3 + ["bad", "blank"])


@st.composite
def mixes(draw: st.DrawFn) -> list[tuple[str, list[tuple[str, bytes]]]]:
    """Files: a container and lines with their kind."""
    line = KINDS.flatmap(
        lambda kind: st.tuples(
            st.just(kind), st.sampled_from({"good": GOOD, "bad": list(BROKEN), "blank": list(BLANK)}[kind])
        )
    )
    file = st.tuples(st.sampled_from(sorted(WRAPPERS)), st.lists(line, max_size=12))
    return draw(st.lists(file, min_size=1, max_size=5))


def sums(report: RunReport) -> None:
    """Every file's lines, and those of all, are the sum of their kinds."""
    for file in report.files:
        assert file.lines == file.facts + file.rejects + file.blank + file.repeated, file
    totals = report.totals()
    for place, name in enumerate(("lines", "facts", "rejects", "blank", "repeated")):
        assert totals[name] == sum(counts(file)[place] for file in report.files)


QUIET = settings(
    deadline=None, max_examples=10, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)


@pytest.mark.slow
@QUIET
@given(mixes(), st.booleans())
def test_lines_are_facts_rejects_blank_and_repeated(
    mix: list[tuple[str, list[tuple[str, bytes]]]], dedup: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contents = [b"".join(line + b"\n" for _, line in some) for _, some in mix]
        for number, ((suffix, _), content) in enumerate(zip(mix, contents, strict=True)):
            (folder / f"{number}.{suffix}").write_bytes(WRAPPERS[suffix](content))
        paths = [str(folder / f"{number}.{suffix}") for number, (suffix, _) in enumerate(mix)]
        report = ingest(paths, folder / "w", Options(format="native", dedup=dedup))
        sums(report)
        decoded = [WRAPPERS[suffix](content) if suffix == "log" else content for (suffix, _), content in
                   zip(mix, contents, strict=True)]  # fmt: skip
        loaded: list[bytes] = []
        for (_, some), content, file in zip(mix, decoded, report.files, strict=True):
            kinds = [kind for kind, _ in some]
            if content in loaded and content:
                assert (file.status, counts(file)) == ("unchanged", (0, 0, 0, 0, 0))
            elif "bad" in kinds and "good" not in kinds:
                assert (file.status, counts(file)) == ("refused", (0, 0, 0, 0, 0))
            else:
                assert (file.lines, file.rejects, file.blank) == (len(some), kinds.count("bad"), kinds.count("blank"))
                assert file.facts + file.repeated == kinds.count("good")
                loaded.append(content)
        snapshot = open_snapshot(folder / "w")
        held = sum(len(rows) for rows in facts(snapshot).values())
        assert held == report.totals()["facts"]
        assert snapshot.query("select count(*) from rejects") == [(report.totals()["rejects"],)]
        again = ingest(paths, folder / "w", Options(format="native", dedup=dedup))
        assert again.totals()["facts"] == 0
        assert all(file.lines == 0 for file in again.files)


@pytest.mark.slow
@QUIET
@given(st.lists(st.sampled_from([*GOOD, *BROKEN[3:9], b""]), min_size=2, max_size=14), st.data())
def test_a_growing_file_ends_as_one_that_was_loaded_whole(some: list[bytes], data: st.DataObject) -> None:
    content = GOOD[3] + b"\n" + b"".join(line + b"\n" for line in some)
    cuts = sorted(data.draw(st.lists(st.integers(len(GOOD[3]) + 1, len(content)), min_size=1, max_size=3)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "whole.jsonl").write_bytes(content)
        whole = load(folder / "whole", str(folder / "whole.jsonl"), format="native")
        grown = []
        for cut in [*cuts, len(content)]:
            (folder / "log.jsonl").write_bytes(content[:cut])
            run = ingest([str(folder / "log.jsonl")], folder / "grown", Options(format="native"))
            sums(run)
            grown.append(counts(run.files[0]))
        assert tuple(map(sum, zip(*grown, strict=True))) == counts(whole)
        assert everything(folder / "grown") == everything(folder / "whole")


# ---------------------------------------------------------------------------------------------------------------------
# What a later load changes


def by(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def funnel(warehouse: Path, **chosen: Any) -> dict[str, int | None]:
    rows = tables.rows(open_snapshot(warehouse), "funnel", Filters(**chosen))
    return {row["stage"]: row["count"] for row in rows if row["funnel"] == "call"}


@pytest.mark.slow
def test_late_notices_change_the_earlier_hours_and_lie_in_their_own(tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    bid = {"http_status": 200, "bids": 1}
    load(warehouse, write(tmp_path / "a.jsonl", [attempt(at(0), "A", **bid), attempt(at(7200), "B", **bid)]))
    assert funnel(warehouse)["won"] is None
    two_days = at_day(2 * DAY)
    notices = [
        {"event": "win", "ts": two_days, "auction_id": "A", "partner": "p", "price": 500},
        {"event": "billing", "ts": two_days, "auction_id": "A", "partner": "p", "price": 500},
        {"event": "win", "ts": two_days, "auction_id": "Z", "partner": "p"},
    ]
    load(warehouse, write(tmp_path / "b.jsonl", notices))
    assert (funnel(warehouse)["won"], funnel(warehouse)["billed"]) == (1, 1)
    first = {"frm_us": 1_789_383_600_000_000, "to_us": 1_789_383_600_000_000 + 3_600_000_000}
    assert (funnel(warehouse, **first)["considered"], funnel(warehouse, **first)["billed"]) == (1, 1)
    rows = tables.rows(open_snapshot(warehouse), "notices", Filters(**first))
    assert sum(row["deliveries"] for row in rows) == 0
    rows = tables.rows(open_snapshot(warehouse), "notices", Filters())
    assert sorted(by(rows, "kind", "orphans", "unique", "currency")) == [
        ("billing", 0, 1, "USD"),
        ("win", 0, 1, "USD"),
        ("win", 1, 1, None),
    ]
    load(warehouse, write(tmp_path / "c.jsonl", [attempt(at_day(2 * DAY - 1), "Z", **bid)]))
    assert sum(row["orphans"] for row in tables.rows(open_snapshot(warehouse), "notices", Filters())) == 0
    assert funnel(warehouse)["won"] == 2


@pytest.mark.slow
def test_a_call_across_two_loads_is_one_call_in_either_order(tmp_path: Path) -> None:
    one = write(tmp_path / "1.jsonl", [attempt(at(3599), "A", http_status=503)])
    other = write(tmp_path / "2.jsonl", [attempt(at(3601), "A"), attempt(at(3600 + 3 * 3600), "A")])
    for number, order in enumerate(([one, other], [other, one])):
        for path in order:
            load(tmp_path / f"w{number}", path)
    assert everything(tmp_path / "w0") == everything(tmp_path / "w1")
    snapshot = open_snapshot(tmp_path / "w0")
    assert by(tables.rows(snapshot, "calls", Filters()), "calls", "attempts_sent", "retries", "recovered") == [
        (2, 3, 1, 1)
    ]
    assert by(tables.rows(snapshot, "retries", Filters()), "trigger", "retry_no", "successes") == [
        ("server_error", 1, 1)
    ]


@pytest.mark.slow
def test_the_first_billing_judges_impressions_again(tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    shown = [
        event
        for number in range(3)
        for event in (
            attempt(at(number * 3600), f"A{number}", http_status=200, bids=1),
            {"event": "impression", "ts": at(number * 3600 + 1), "auction_id": f"A{number}", "partner": "p"},
        )
    ]
    load(warehouse, write(tmp_path / "a.jsonl", shown))
    assert funnel(warehouse)["billed"] == 3
    billing = {"event": "billing", "ts": at(9000), "auction_id": "A1", "partner": "p"}
    load(warehouse, write(tmp_path / "b.jsonl", [billing]))
    assert funnel(warehouse)["billed"] == 1
    load(tmp_path / "together", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    assert everything(tmp_path / "together") == everything(warehouse)


def test_a_winner_told_later_places_a_notice_that_named_no_partner(tmp_path: Path) -> None:
    bids = [attempt(at(0), "A", partner, http_status=200, bids=1) for partner in ("p", "q")]
    win = {"event": "win", "ts": at(1), "auction_id": "A", "imp_id": "1"}
    load(tmp_path / "w", write(tmp_path / "a.jsonl", [*bids, win]))
    assert by(tables.rows(open_snapshot(tmp_path / "w"), "notices", Filters()), "partner", "orphans") == [(None, 1)]
    auction = {"event": "auction", "ts": at(0), "auction_id": "A", "winner": "q"}
    load(tmp_path / "w", write(tmp_path / "b.jsonl", [auction]))
    assert by(tables.rows(open_snapshot(tmp_path / "w"), "notices", Filters()), "partner", "orphans") == [("q", 0)]


def test_an_earlier_acceptance_that_comes_later_moves_the_duplicate(tmp_path: Path) -> None:
    late = postback(at(100), order="o", conversion_id="c")
    early = postback(at(10), order="o", conversion_id="c")
    load(tmp_path / "w", write(tmp_path / "a.jsonl", [late]))
    load(tmp_path / "w", write(tmp_path / "b.jsonl", [early]))
    held = open_snapshot(tmp_path / "w").query("select stage, reason from postback_results order by us")
    assert held == [(4, None), (3, "duplicate")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_tables_are_equal_when_the_same_lines_come_in_other_splits(tmp_path: Path, seed: int) -> None:
    simulate(tmp_path / "logs", seed, 2, 3.0)
    content = b"".join(path.read_bytes() for path in sorted((tmp_path / "logs").glob("*.jsonl")))
    every = content.splitlines(keepends=True)
    Random(seed).shuffle(every)
    sizes = (len(every) // 7, len(every) // 2, len(every))
    for begin, end in zip((0, *sizes), sizes, strict=False):
        (tmp_path / f"{end}.jsonl").write_bytes(b"".join(every[begin:end]))
        load(tmp_path / "split", str(tmp_path / f"{end}.jsonl"))
    (tmp_path / "all.jsonl").write_bytes(content)
    load(tmp_path / "whole", str(tmp_path / "all.jsonl"))
    assert everything(tmp_path / "split") == everything(tmp_path / "whole")


def test_every_file_is_told_as_it_was_published_repeats_left_out(tmp_path: Path) -> None:
    line = '{"event":"attempt","ts":"2026-09-14T11:00:00Z","auction_id":"a","partner":"p","http_status":204}\n'
    (tmp_path / "a.jsonl").write_text(line * 3)
    (file,) = ingest([str(tmp_path / "a.jsonl")], tmp_path / "w", Options(dedup=True)).files
    assert (file.lines, file.facts, file.repeated) == (3, 1, 2)
    (load,) = tables.rows(open_snapshot(tmp_path / "w"), "loads")
    assert (load["lines"], load["facts"], load["repeated"]) == (3, 1, 2)


def test_a_repeated_line_is_not_counted_as_mended(tmp_path: Path) -> None:
    line = '{"event":"attempt","ts":"2026-09-14T11:00:00Z","auction_id":"a","partner":"p","latency_ms":-1,%s}\n'
    (tmp_path / "bytes.jsonl").write_text((line % '"http_status":204') * 2)
    (tmp_path / "ids.jsonl").write_text((line % '"http_status":503,"event_id":"e"') * 3)
    report = ingest([str(tmp_path / "bytes.jsonl"), str(tmp_path / "ids.jsonl")], tmp_path / "w", Options(dedup=True))
    assert [(file.facts, file.repeated, dict(file.mended)) for file in report.files] == [
        (1, 1, {"latency_ms": 1}),
        (1, 2, {"latency_ms": 1}),
    ]
