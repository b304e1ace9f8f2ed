"""`python -m tests.benchmarks.rivals [--lines N] [--times N]`: the typed load of a log, ours and by other engines.

Each reads the same file, of which every hundredth line is cut, and writes one Parquet file of typed rows and one of
rejects (line number, text): our own load without models, then polars, pandas and chdb, beside the engine's bare COPY,
which keeps no rejects. The others do less: no masking, no outcome, no body, no exact literals. All must agree on how
many rows and rejects there are. polars and chdb are extras of this benchmark: `pip install polars chdb`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks.process import Cost, median, run

#: Columns of an attempt, and their kinds, as the others read them.
KINDS = {
    "event": "text", "ts": "time", "auction_id": "text", "partner": "text", "attempt": "integer", "request_id": "text",
    "tmax_ms": "number", "budget_ms": "number", "timeout_ms": "number", "elapsed_ms": "number", "latency_ms": "number",
    "http_status": "integer", "error_type": "text", "nbr": "integer", "bids": "integer", "price": "number",
    "currency": "text", "reject_reason": "text", "breaker": "text", "not_sent": "text", "backoff_ms": "number",
    "source": "text", "placement": "text", "region": "text", "node": "text", "event_id": "text",
}  # fmt: skip
REQUIRED = ("event", "ts", "auction_id", "partner")
CHUNK_LINES = 50_000


def ours(log: str, out: str) -> tuple[int, int]:
    """Rows and rejects of our own load, facts written, without models."""
    from ingest.engine import engine
    from ingest.facts.store import write_facts
    from ingest.formats.registry import native_format
    from ingest.formats.spec import State
    from ingest.models.parts import Parts
    from ingest.rows.loader import Counts, RowLoader
    from ingest.sources import Found, Known, Reading

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    con = engine(folder)
    loader = RowLoader(con)
    counts = Counts()
    with Reading(Found(log, Path(log)), Known.from_rows([])) as reading:
        for segment in reading.segments():
            counts += loader.load_lines(
                native_format(), segment.data, file_no=0, first_line=segment.first_line, offset=segment.offset,
                state=State("json"),
            )  # fmt: skip
    write_facts(Parts(con, folder, "1", []))
    con.execute(f"copy stage_rejects to '{folder / 'rejects.parquet'}' (format parquet, compression zstd)")
    return counts.facts, counts.rejects


def bare(log: str, out: str) -> tuple[int, int]:
    """The engine's typed COPY: rows, and no rejects."""
    import duckdb

    names = {"text": "VARCHAR", "time": "TIMESTAMP", "integer": "BIGINT", "number": "DOUBLE"}
    typed = ", ".join(f"'{name}': '{names[kind]}'" for name, kind in KINDS.items())
    duckdb.sql(
        f"copy (select * from read_ndjson('{log}', columns = {{{typed}}}, ignore_errors = true))"
        f" to '{out}' (format parquet, compression zstd)"
    )
    return duckdb.sql(f"select count(*) from read_parquet('{out}')").fetchall()[0][0], 0


def by_polars(log: str, out: str) -> tuple[int, int]:
    """Lines as text, decoded to a structure of texts, then cast."""
    import polars as pl

    texts = pl.Struct(dict.fromkeys(KINDS, pl.String))
    casts = {"text": pl.String, "integer": pl.Int64, "number": pl.Float64}
    parts, rejects = [], []
    for first, lines in _chunks(log):
        series = pl.Series(lines)
        try:
            rows = series.str.json_decode(texts)
            bad = []
        except pl.exceptions.PolarsError:
            good, bad = _sound(lines)
            rows = pl.Series([lines[number] for number in good]).str.json_decode(texts)
        frame = rows.struct.unnest().with_columns(
            [
                pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
                if kind == "time"
                else pl.col(name).cast(casts[kind], strict=False)
                for name, kind in KINDS.items()
            ]
        )
        whole = pl.all_horizontal([pl.col(name).is_not_null() for name in REQUIRED])
        parts.append(frame.filter(whole))
        rejects += [(first + number, lines[number]) for number in bad]
        rejects += [(first, "") for _ in range(frame.height - parts[-1].height)]
    rows_of = pl.concat(parts)
    rows_of.write_parquet(out, compression="zstd")
    pl.DataFrame(rejects, schema={"line": pl.Int64, "raw": pl.String}, orient="row").write_parquet(out + ".rejects")
    return rows_of.height, len(rejects)


def by_pandas(log: str, out: str) -> tuple[int, int]:
    """Lines decoded one by one, as only that tells which is broken; columns cast as a whole."""
    import pandas as pd

    rows, rejects = [], []
    for first, lines in _chunks(log):
        for number, line in enumerate(lines):
            try:
                rows.append(json.loads(line))
            except ValueError:
                rejects.append((first + number, line))
    frame = pd.DataFrame(rows, columns=list(KINDS))
    for name, kind in KINDS.items():
        if kind == "time":
            frame[name] = pd.to_datetime(frame[name], utc=True, errors="coerce", format="ISO8601")
        elif kind in ("integer", "number"):
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
        else:
            frame[name] = frame[name].astype("string")
    whole = frame[list(REQUIRED)].notna().all(axis=1)
    rejects += [(0, "")] * int((~whole).sum())
    frame[whole].to_parquet(out, compression="zstd")
    pd.DataFrame(rejects, columns=["line", "raw"]).to_parquet(out + ".rejects")
    return int(whole.sum()), len(rejects)


def by_chdb(log: str, out: str) -> tuple[int, int]:
    """Lines as strings, taken apart by JSON functions."""
    import chdb

    texts = ", ".join(f"JSONExtractString(line, '{name}') as t_{name}" for name in KINDS)
    numbers = {"integer": "Nullable(Int64)", "number": "Nullable(Float64)"}
    columns = []
    for name, kind in KINDS.items():
        if kind == "time":
            columns.append(f"parseDateTime64BestEffortOrNull(t_{name}, 6, 'UTC') as {name}")
        elif kind == "text":
            columns.append(f"nullIf(t_{name}, '') as {name}")
        else:
            columns.append(f"JSONExtract(line, '{name}', '{numbers[kind]}') as {name}")
    source = f"file('{log}', 'LineAsString', 'line String')"
    whole = " and ".join(f"{name} is not null" for name in REQUIRED)
    chdb.query(
        f"select {', '.join(KINDS)} from (select {', '.join(columns)} from (select line, {texts} from {source}"
        f" where isValidJSON(line))) where {whole} into outfile '{out}' truncate format Parquet"
        " settings output_format_parquet_compression_method = 'zstd'"
    )
    chdb.query(
        f"select line from {source} where not isValidJSON(line) into outfile '{out}.rejects' truncate format Parquet"
    )
    found = [chdb.query(f"select count() from file('{name}', 'Parquet')", "CSV") for name in (out, out + ".rejects")]
    rows, rejects = (int(str(count).strip()) for count in found)
    return rows, rejects


def _chunks(log: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of the file, some at a time, with the number of the first."""
    first, lines = 1, []
    with open(log, encoding="utf-8") as source:
        for line in source:
            lines.append(line)
            if len(lines) == CHUNK_LINES:
                yield first, lines
                first, lines = first + len(lines), []
    if lines:
        yield first, lines


def _sound(lines: list[str]) -> tuple[list[int], list[int]]:
    good: list[int] = []
    bad: list[int] = []
    for number, line in enumerate(lines):
        try:
            json.loads(line)
            good.append(number)
        except ValueError:
            bad.append(number)
    return good, bad


LOADERS: dict[str, Callable[[str, str], tuple[int, int]]] = {
    "bare COPY": bare, "ours": ours, "polars": by_polars, "pandas": by_pandas, "chdb": by_chdb,
}  # fmt: skip


def attempts_only(log: Path, lines: int) -> Path:
    """The attempts of a simulated log without bodies, every hundredth line cut."""
    from tests.benchmarks.__main__ import make_log, with_bad_lines, without_bodies

    made = without_bodies(make_log(log, lines))
    kept = log / "attempts.jsonl"
    with made.open("rb") as source, kept.open("wb") as target:
        target.writelines(line for line in source if b'"event":"attempt"' in line)
    return with_bad_lines(kept)


def measure(log: Path, times: int) -> dict[str, dict[str, float]]:
    """CPU, wall and memory of each loader that is installed; each must find the same rows and rejects."""
    costs: dict[str, list[Cost]] = {}
    for _ in range(times):
        for name in LOADERS:
            if name not in ("polars", "chdb") or importlib.util.find_spec(name):
                costs.setdefault(name, []).append(run(["tests.benchmarks.rivals", "--load", name, "--log", str(log)]))
    bare_cpu = median(costs["bare COPY"]).cpu_s
    return {
        name: {
            "cpu_s": round(median(found).cpu_s, 2),
            "wall_s": round(median(found).wall_s, 2),
            "peak_mb": round(median(found).peak_mb),
            "cpu_ratio": round(median(found).cpu_s / bare_cpu, 2),
        }
        for name, found in costs.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--load", choices=list(LOADERS))
    parser.add_argument("--log", type=Path)
    chosen = parser.parse_args()
    if chosen.load:
        with tempfile.TemporaryDirectory() as folder:
            rows, rejects = LOADERS[chosen.load](str(chosen.log), f"{folder}/{chosen.load}")
        print(f"{chosen.load}: {rows:,} rows, {rejects:,} rejects", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        log = attempts_only(Path(folder), chosen.lines)
        for name, figures in measure(log, chosen.times).items():
            print(f"{name:10} {figures}")


if __name__ == "__main__":
    main()
