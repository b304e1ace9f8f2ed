"""Fuzzed lines, loaded and read by the tests themselves: the same lines are rejected, and every line is counted."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from ingest.formats.registry import load_format
from ingest.load import ingest
from ingest.rows.batch import read_batch
from ingest.rows.helpers import read_beside
from ingest.rows.raw import Raw
from ingest.rows.record import Reader
from tests.fuzz.compare import compare
from tests.fuzz.making import MUTATIONS, fuzzed_lines
from tests.fuzz.reading import read_file, read_line
from tests.loaded import at, attempt

CI_LINES = 30_000
#: What `python -m tests.fuzz 1000000` is to keep, in MB; the same holds for less.
MEMORY_MB = 1000


@pytest.mark.slow
def test_thirty_thousand_fuzzed_lines_end_where_they_should(tmp_path: Path) -> None:
    outcome = compare(tmp_path, CI_LINES, seed=20)
    assert outcome.differing == []
    assert outcome.told == outcome.own
    assert sum(outcome.told.values()) == outcome.lines >= CI_LINES
    assert min(outcome.told.values()) > 100
    assert outcome.peak_mb < MEMORY_MB


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21, 22])
def test_a_few_fuzzed_lines(tmp_path: Path, seed: int) -> None:
    outcome = compare(tmp_path, 2000, seed)
    assert outcome.agree, outcome


@pytest.mark.slow
def test_the_comparison_sees_a_line_that_was_lost_and_one_that_was_misjudged(tmp_path: Path) -> None:
    outcome = compare(tmp_path, 600, seed=23)
    assert outcome.agree
    assert not replace(outcome, told=outcome.told | {"facts": outcome.told["facts"] - 1}).agree
    assert not replace(outcome, lines=outcome.lines + 1).agree
    assert not replace(outcome, differing=[7]).agree


def test_a_seed_gives_its_lines_and_they_are_of_every_kind() -> None:
    lines = list(fuzzed_lines(3000, 5))
    assert lines == list(fuzzed_lines(3000, 5)) != list(fuzzed_lines(3000, 6))
    counts = read_file(b"".join(lines)).counts
    assert min(counts[kind] for kind in ("fact", "reject", "blank", "repeated")) > 10
    assert len({mutation for mutation, _ in MUTATIONS}) == len(MUTATIONS) >= 20


GOOD = attempt(at(0), "A")
WHOLE = json.dumps(GOOD).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (WHOLE, "fact"), (WHOLE + b"\r", "fact"), (b"\xef\xbb\xbf" + WHOLE, "fact"), (b" \t" + WHOLE + b" ", "fact"),
        (b"", "blank"), (b" \t\r", "blank"), (b"\xef\xbb\xbf", "blank"), (WHOLE[:-1], "reject"), (b"\x0c", "reject"),
        (WHOLE + b"x", "reject"), (WHOLE + b"\x0c", "reject"), (b"[" + WHOLE + b"]", "reject"), (b"null", "reject"),
        (WHOLE[:-1] + b',"x":NaN}', "fact"), (WHOLE[:-1] + b',"x":1e400}', "fact"), (WHOLE[:-1] + b",}", "reject"),
        (WHOLE[:-1] + b',"x":' + b"[" * 199 + b"]" * 199 + b"}", "fact"),
        (WHOLE[:-1] + b',"x":' + b"[" * 200 + b"]" * 200 + b"}", "reject"),
        (WHOLE.replace(b'"A"', b'"\\ud800"'), "reject"), (WHOLE.replace(b'"A"', b'"\xff"'), "reject"),
        (WHOLE.replace(b'"A"', b"true"), "reject"), (WHOLE.replace(b'"A"', b"7"), "fact"),
        (WHOLE.replace(b'"A"', b"18446744073709551617"), "fact"), (WHOLE.replace(b'"event"', b'"\\u0065vent"'), "fact"),
        (WHOLE.replace(b'"event"', b'"Event"'), "reject"), (b'{"ts":"never",' + WHOLE[1:], "reject"),
        (WHOLE[:-1] + b',"ts":"never"}', "fact"), (WHOLE.replace(b'"A"', b'"a\tb"'), "reject"),
        (WHOLE.replace(b'"A"', b'"a\x00b"'), "reject"), (WHOLE[:-1] + b',"x":"\\x41"}', "reject"),
    ],
)  # fmt: skip
def test_the_own_reading_and_the_load_agree_on_the_traps(tmp_path: Path, line: bytes, verdict: str) -> None:
    """The line stands among so many good ones that the engine reads them first."""
    assert read_line(line, {}) == verdict
    good = [json.dumps(attempt(at(n), f"G{n}")).encode() for n in range(600)]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*good[:300], line, *good[300:]]) + b"\n")
    totals = ingest([str(tmp_path / "a.jsonl")], tmp_path / "w").totals()
    told = Counter(fact=totals["facts"], reject=totals["rejects"], blank=totals["blank"])
    assert told == Counter(fact=600) + Counter({verdict: 1})


def test_an_event_id_counts_once_within_a_week() -> None:
    events = [attempt(at(0), "A", event_id="e"), attempt(at(9), "B", event_id="e")]
    events += [attempt("2026-09-22T12:00:00Z", "C", event_id="e"), attempt(at(0), "D", event_id="f")]
    reading = read_file("".join(json.dumps(event) + "\n" for event in events).encode())
    assert reading.counts == Counter(fact=3, repeated=1)


def test_lines_keep_their_ends() -> None:
    assert all(line.endswith(b"\n") for line in islice(fuzzed_lines(500, 1), 500))


def test_helping_processes_read_what_one_alone_reads() -> None:
    """In order, line by line, and whatever the lines."""
    native = load_format("native")
    lines = b"".join(fuzzed_lines(900, 24)).split(b"\n")[:-1]
    raws = [Raw(number, 0, line) for number, line in enumerate(lines, 1)]
    batches = [raws[start : start + 100] for start in range(0, len(raws), 100)]
    alone = [read_batch(Reader(native, None), 3, batch, want_hashes=True) for batch in batches]
    helped = list(read_beside(native, None, 3, batches, want_hashes=True))
    assert len(alone) == len(helped) >= 9
    assert helped == alone
    assert all(batch.counts.rejects and batch.counts.facts for batch in helped)
