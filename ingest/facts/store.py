"""Write the staged facts of a load as Parquet: one part a relation and UTC day, rows by hour, partner and time."""

from __future__ import annotations

import shutil
from pathlib import Path

from ingest.facts.columns import COLUMNS
from ingest.models.parts import Part, Parts, quote, quote_name
from ingest.models.relations import DAY_US, HOUR_US

#: Order of rows within an hour: what a page reads together lies together.
ORDER = {
    "attempts": "partner, ts",
    "auctions": "ts",
    "notices": "ts",
    "breaker_events": "ts",
    "postbacks": "key_id, ts",
}


def order_of(relation: str) -> str:
    """How rows of a fact relation follow one another in a part: the columns of an `order by`."""
    return f"epoch_us(ts) // {HOUR_US}, {ORDER[relation]}"


def write_facts(parts: Parts) -> dict[str, int]:
    """Write `stage_<relation>` of every fact relation; gives the number of rows of each."""
    return {relation: _write(parts, relation) for relation in ORDER}


def _write(parts: Parts, relation: str) -> int:
    con = parts.con
    days = con.execute(
        f"select epoch_us(ts) // {DAY_US}, count(*) from stage_{relation} group by 1 order by 1"
    ).fetchall()
    if not days:
        return 0
    columns = ", ".join(quote_name(name) for name, _ in COLUMNS[relation])
    target = parts.root / "facts" / relation
    target.mkdir(parents=True, exist_ok=True)
    rows = f"select {columns}, epoch_us(ts) // {DAY_US} as unit from stage_{relation} order by {order_of(relation)}"
    if len(days) == 1:
        day, count = days[0]
        path = target / f"{day}-{parts.generation}.parquet"
        con.execute(
            f"copy (select * exclude (unit) from ({rows})) to {quote(str(path))} (format parquet, compression zstd)"
        )
        _took(parts, relation, path, count)
        return int(count)
    staged = parts.root / "tmp" / f"facts-{relation}-{parts.generation}"
    listed = con.execute(
        f"copy ({rows}) to {quote(str(staged))} (format parquet, compression zstd, partition_by (unit), return_stats)"
    ).fetchall()
    for number, (name, count, *_) in enumerate(listed):
        day = Path(name).parent.name.partition("=")[2]
        path = target / f"{day}-{parts.generation}-{number}.parquet"
        Path(name).rename(path)
        _took(parts, relation, path, count)
    shutil.rmtree(staged, ignore_errors=True)
    return sum(int(count) for _, count in days)


def _took(parts: Parts, relation: str, path: Path, rows: int) -> None:
    lo, hi = parts.con.execute(
        f"select min(epoch_us(ts)), max(epoch_us(ts)) from read_parquet({quote(str(path))}, hive_partitioning = false)"
    ).fetchall()[0]
    parts.add(Part(relation, str(path.relative_to(parts.root)), int(rows), int(lo), int(hi)))
