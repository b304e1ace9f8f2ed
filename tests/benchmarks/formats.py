"""`python -m tests.benchmarks.formats [--lines N] [--times N]`: CPU per byte of each format, beside the native one's.

Each log is the sample of the format's guide, repeated with ids and seconds of its own, and read into staging: split,
mapped, cast. The bar is twice the native format's CPU per byte.
"""

from __future__ import annotations

import argparse
import re
import resource
import statistics
from itertools import count, cycle

import duckdb

from ingest.formats.registry import list_formats, native_format, open_as
from ingest.formats.spec import AnyFormat
from ingest.rows.loader import RowLoader
from tests.foreign_log import guide_sample

NATIVE = (
    '{"event":"attempt","ts":"2026-09-14T10:00:00.123456Z","auction_id":"auc-000000000001","partner":"dsp-1","attempt":1,'
    '"http_status":503,"latency_ms":20,"timeout_ms":100,"tmax_ms":300,"budget_ms":300,"elapsed_ms":5,"node":"n0"}\n'
)
#: Ids of the samples, which get a number of their own in every line.
IDS = re.compile(r"\b(n-1|n-2|a-1|q-1|R-1|b-0001|e-1|r-1|5b8efff798038103d269b633813fc60c|O-1|ORD-1)\b")


def log_of(fmt: AnyFormat, lines: int) -> bytes:
    """The sample's lines over and over, with ids that differ."""
    if fmt is native_format():
        return "".join(NATIVE.replace("000000000001", f"{number:012}") for number in range(lines)).encode()
    sample = guide_sample(fmt.name).splitlines(keepends=True)
    header = [sample.pop(0)] if fmt.name == "appsflyer" else []
    made = (IDS.sub(rf"\g<1>{number:x}", line) for line, number in zip(cycle(sample), count(), strict=False))
    return "".join([*header, *(next(made) for _ in range(lines))]).encode()


def cpu_per_byte(fmt: AnyFormat, data: bytes) -> float:
    """Microseconds."""
    state = open_as(fmt, data[:65_536].rpartition(b"\n")[0] + b"\n")
    loader = RowLoader(duckdb.connect(), zone="Europe/Kyiv")
    start = state.header_bytes
    before = _cpu()
    counts = loader.load_lines(fmt, data[start:], file_no=0, first_line=1, offset=start, state=state)
    taken = _cpu() - before
    if counts.rejects:
        raise SystemExit(f"{fmt.name}: {counts.rejects} of {counts.lines} lines were rejected")
    return taken / len(data) * 1e6


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=3)
    chosen = parser.parse_args()
    logs = {fmt.name: (fmt, log_of(fmt, chosen.lines)) for fmt in list_formats()}
    taken: dict[str, list[float]] = {name: [] for name in logs}
    for _ in range(chosen.times):
        for name, (fmt, data) in logs.items():
            taken[name].append(cpu_per_byte(fmt, data))
    native = statistics.median(taken[native_format().name])
    for name, found in taken.items():
        median = statistics.median(found)
        print(f"{name:10} {median:.4f} us a byte, {median / native:.2f} x native")


if __name__ == "__main__":
    main()
