"""A large keyed pass, worked out in slices of time: what it holds in memory does not grow with the load.

Every key belongs to the slice in which its first fact lies, so facts are read about once, however many slices there
are. What a slice stores is written at once, and its files become parts as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.models.parts import ORDER, Part, Parts, quote, scan, spanned_by
from ingest.models.relations import DAY_US, HOUR_US, Keyed, model_sql

#: Facts of a slice: what the steps hold in memory goes with them.
SLICE_ROWS = 600_000

#: Rows from which on a file of one hour stays as it is beside others of that hour.
APART_ROWS = 100_000

#: Relations of so many columns that writing them in the order of the facts, which is by hour, has to do.
UNSORTED = ("calls",)


#: Steps that matter to the rows of one relation alone.
ASKED_BY = {"only_bidders": "notices"}


class Slice(NamedTuple):
    """Keys whose first fact lies in [from_us, last_us]; their facts of each relation end at `ends_us` (-1: none)."""

    from_us: int
    last_us: int
    ends_us: tuple[int, ...]


class Slices:
    """One load's large pass, in the schema of its name.

    `keyed_facts` and `lone_facts` are selects by relation: the facts of the touched keys, and those without a key.
    """

    def __init__(
        self, parts: Parts, keyed: Keyed, keyed_facts: Mapping[str, str], lone_facts: Mapping[str, str]
    ) -> None:
        self.con, self.parts, self.keyed = parts.con, parts, keyed
        self.keyed_facts, self.lone_facts = keyed_facts, lone_facts
        self.folder = parts.root / "tmp" / f"{keyed.name}-{parts.generation}"
        self.files: dict[str, list[Path]] = {relation: [] for relation in keyed.stored}
        self._wide_us = HOUR_US

    def run(self) -> None:
        """Work the stored relations out, into `files`."""
        slices = self._cut()
        self._wide_us = max(one.last_us // HOUR_US - one.from_us // HOUR_US for one in slices) * HOUR_US + HOUR_US
        for number, one in enumerate(slices):
            self._inputs(one, is_first=number == 0, is_only=len(slices) == 1)
            for step in self.keyed.steps:
                if step in self.keyed.stored:
                    self._write(step, number)
                else:
                    self._make(step)
        for step in self.keyed.steps:
            if step not in self.keyed.stored:
                self.con.execute(f"drop table {self.keyed.name}.{step}")

    def store(self, relation: str, hours: set[int], keep: str) -> set[int]:
        """Let what was made of `relation` be parts, with those rows of the `hours` that `keep` keeps of the old.

        Gives the hours that were written anew.
        """
        files = self.files[relation]
        _, replaced = spanned_by(hours | self._hours(files), self.parts.of(relation))
        if replaced:
            self.parts.set_aside(relation, replaced)
            old = f"select * from {scan(self.parts.root, replaced)} as old where {keep}"
            files = files + self._by_hour(old, self.folder / f"{relation}-old")
        return hours | self._adopt(relation, files)

    def _cut(self) -> list[Slice]:
        """The slices, of about SLICE_ROWS facts each: those of one second are never parted."""
        relations = list(self.keyed.keys)
        rows = " union all ".join(
            f"select {self.keyed.sliced_by} as slice_key, epoch_us(ts) as us, {place} as place from ({facts})"
            for place, facts in enumerate(self.keyed_facts.values())
        )
        ends = [f"max(case when place = {place} then us end) as ends_{place}" for place in range(len(relations))]
        self.con.execute(
            f"create or replace table {self.keyed.name}.placed as"
            f" select slice_key, min(us) as us, count(*) as n, {', '.join(ends)} from ({rows})"
            " where slice_key is not null group by slice_key"
        )
        ends = [f"max(ends_{place}) as ends_{place}" for place in range(len(relations))]
        found = self.con.execute(
            f"select min(second) * 1000000, max(second) * 1000000 + 999999, {', '.join(ends)} from (select *,"
            f" (sum(n) over (order by second) - 1) // {SLICE_ROWS} as number from ("
            f"select us // 1000000 as second, sum(n) as n, {', '.join(ends)} from {self.keyed.name}.placed group by 1"
            ")) group by number order by 1"
        ).fetchall()
        return [
            Slice(int(start), int(last), tuple(-1 if end is None else int(end) for end in ends_us))
            for start, last, *ends_us in found
        ]

    def _inputs(self, one: Slice, *, is_first: bool, is_only: bool) -> None:
        """Let the facts of a slice go by the names of their relations; facts that have no key are in the first."""
        name = self.keyed.name
        if not is_only:
            self.con.execute(
                f"create or replace table {name}.slice_keys as select slice_key from {name}.placed"
                f" where us between {one.from_us} and {one.last_us}"
            )
        for relation, end in zip(self.keyed.keys, one.ends_us, strict=True):
            rows = self.keyed_facts[relation]
            if end < 0:
                rows = f"select * from ({rows}) where false"
            elif not is_only:
                rows = (
                    f"select * from ({rows}) semi join {name}.slice_keys on slice_key = {self.keyed.sliced_by}"
                    f" where ts >= make_timestamp({one.from_us}) and ts <= make_timestamp({end})"
                )
            else:
                rows = f"select * from ({rows}) where {self.keyed.sliced_by} is not null"
            if is_first:
                rows += f" union all {self.lone_facts[relation]}"
            self.con.execute(f"create or replace view {name}.{relation} as {rows}")

    def _make(self, step: str) -> None:
        asking = ASKED_BY.get(step)
        idle = asking and not self.con.execute(f"select 1 from {self.keyed.name}.{asking} limit 1").fetchone()
        rows = f"select * from ({model_sql(step)}) limit 0" if idle else model_sql(step)
        self.con.execute(f"create or replace table {self.keyed.name}.{step} as {rows}")

    def _write(self, relation: str, number: int) -> None:
        """Write what the slice stores of `relation`, and let it go by that name."""
        path = self.folder / relation / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = f"select * from ({model_sql(relation)}) where hour_us >= {self.parts.frozen_us}"
        if relation not in UNSORTED:
            rows += f" order by {ORDER[relation]}"
        self.con.execute(f"copy ({rows}) to {quote(str(path))} (format parquet, compression zstd)")
        self.files[relation].append(path)
        self.con.execute(
            f"create or replace view {self.keyed.name}.{relation} as select * from read_parquet({quote(str(path))})"
        )

    def _hours(self, files: Sequence[Path]) -> set[int]:
        """The hours of the rows in `files`."""
        if not files:
            return set()
        found = self.con.execute(f"select distinct hour_us from {_read(files)}").fetchall()
        return {int(hour) for (hour,) in found}

    def _adopt(self, relation: str, files: Sequence[Path]) -> set[int]:
        """Let `files` be parts; gives the hours that they hold.

        A file of more hours than a slice has, or of two days, is cut by hour; of the files of one hour the small become
        one.
        """
        hours: set[int] = set()
        alone: dict[int, list[tuple[Path, int]]] = {}
        todo = list(files)
        while todo:
            path = todo.pop(0)
            lo, hi, rows = self.con.execute(
                f"select min(hour_us), max(hour_us), count(*) from {_read([path])}"
            ).fetchall()[0]
            if not rows:
                continue
            if hi - lo > self._wide_us or lo // DAY_US != hi // DAY_US:
                todo += self._by_hour(f"select * from {_read([path])}", path.with_suffix(""))
                continue
            hours.update(range(lo, hi + HOUR_US, HOUR_US))
            if lo == hi:
                alone.setdefault(lo, []).append((path, rows))
            else:
                self._move(relation, path, rows, lo, hi - lo + HOUR_US)
        for hour, held in alone.items():
            for path, rows in self._settled(relation, held):
                self._move(relation, path, rows, hour, HOUR_US)
        return hours

    def _settled(self, relation: str, held: list[tuple[Path, int]]) -> Iterator[tuple[Path, int]]:
        """The files of an hour, of which the small are one."""
        small = [path for path, rows in held if rows < APART_ROWS]
        yield from ((path, rows) for path, rows in held if path not in small or len(small) == 1)
        if len(small) > 1:
            merged = small[0].with_name(f"{small[0].stem}-merged.parquet")
            self.con.execute(
                f"copy (select * from {_read(small)} order by {ORDER[relation]})"
                f" to {quote(str(merged))} (format parquet, compression zstd)"
            )
            yield merged, sum(rows for path, rows in held if path in small)

    def _by_hour(self, rows: str, folder: Path) -> list[Path]:
        """Write `rows` into a file for each hour."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        written = self.con.execute(
            f"copy (select *, hour_us as unit_us from ({rows})) to {quote(str(folder))}"
            " (format parquet, compression zstd, partition_by (unit_us), return_stats)"
        ).fetchall()
        return [Path(name) for name, *_ in written]

    def _move(self, relation: str, path: Path, rows: int, unit: int, span: int) -> None:
        target = self.parts.root / "models" / relation
        target.mkdir(parents=True, exist_ok=True)
        number = sum(1 for part in self.parts.written if part.relation == relation)
        final = target / f"{unit // HOUR_US}-{self.parts.generation}-{number}.parquet"
        path.rename(final)
        self.parts.add(Part(relation, str(final.relative_to(self.parts.root)), rows, unit, unit + span - 1, unit, span))

    def close(self) -> None:
        """Take the files away that became no parts."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _read(files: Sequence[Path]) -> str:
    listed = ", ".join(quote(str(path)) for path in files)
    return f"read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
