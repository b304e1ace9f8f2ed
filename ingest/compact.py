"""Merge small Parquet parts, so that their number stays bounded however many loads there are.

Facts, rejects and line hashes get a part with every load. Those of one day and of about one size are merged when there
are eight: a row is written again only when the part that holds it has grown eightfold, so the work of a load stays the
same on average. A day that ends is tidied once. Parts of models hold an hour or a day: hours of a small day become a
day, and those of a large one when no notice can touch it any more. Merged rows go into new files; the old ones stay for
the snapshots that name them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ingest.facts.store import order_of
from ingest.models.parts import DAY_ROWS, Part, Parts, quote, scan
from ingest.models.relations import DAY_US, FACTS, STORED, WHOLE

#: Parts of about one size that are merged into one.
MANY = 8
#: Rows of a part from which on it is large enough to stay.
LARGE_ROWS = 1 << 18

#: Relations whose parts hold rows of any time, with the order of their rows.
TIMELESS = {"rejects": "load_id, line", "line_hashes": "hash"}
MODELS = tuple(relation for relation in STORED if relation not in (*FACTS, *WHOLE, *TIMELESS))


def compact(parts: Parts, newest_before_us: int, newest_us: int, settled_days: int) -> None:
    """Merge what a load left in too many parts.

    The newest event before and after the load tell which days ended meanwhile; `settled_days` after its end a day is
    not touched any more.
    """
    before, now = newest_before_us // DAY_US * DAY_US, newest_us // DAY_US * DAY_US
    for relation in FACTS:
        for day, held in _by_day(parts.of(relation), lambda part: part.lo_us):
            if day >= parts.frozen_us // DAY_US * DAY_US:
                _merge(parts, relation, _small(held) if before <= day < now else _due(held), order_of(relation))
    for relation, order in TIMELESS.items():
        _merge(parts, relation, _due(parts.of(relation)), order)
    compact_models(parts, before, now, settled_days)


def compact_models(parts: Parts, before: int, now: int, settled_days: int) -> None:
    """Merge parts of models: those of days of few rows, and of days that settled from `before` to `now`."""
    settled = settled_days * DAY_US
    for relation in MODELS:
        for day, held in _by_day(parts.of(relation), lambda part: part.unit_us):
            is_small = len(held) > MANY and sum(part.rows for part in held) <= DAY_ROWS
            if is_small or (len(held) > 1 and before <= day + settled < now):
                _join(parts, relation, day, held)


def _by_day(parts: Iterable[Part], us: Callable[[Part], int]) -> Iterator[tuple[int, list[Part]]]:
    days: dict[int, list[Part]] = defaultdict(list)
    for part in parts:
        days[us(part) // DAY_US * DAY_US].append(part)
    return iter(days.items())


def _small(parts: Iterable[Part]) -> list[Part]:
    return [part for part in parts if part.rows < LARGE_ROWS]


def _tier(rows: int) -> int:
    """Sizes of one tier differ by a factor of eight at most."""
    return rows.bit_length() // 3


def _due(parts: Iterable[Part]) -> list[Part]:
    """The parts that are to become one; what they come to counts as a part of the tier where it lands."""
    tiers: dict[int, list[Part]] = defaultdict(list)
    for part in _small(parts):
        tiers[_tier(part.rows)].append(part)
    picked: list[Part] = []
    for tier in range(_tier(LARGE_ROWS) + 1):
        waiting = bool(picked) and _tier(sum(part.rows for part in picked)) == tier
        if len(tiers[tier]) + waiting >= MANY:
            picked += tiers[tier]
    return picked


def _merge(parts: Parts, relation: str, held: Sequence[Part], order: str) -> None:
    """Let one part with the rows of `held` in `order` stand for them."""
    if len(held) < 2:
        return
    lo, hi = min(part.lo_us for part in held), max(part.hi_us for part in held)
    path = (parts.root / held[0].path).with_name(f"{lo // DAY_US}-{parts.generation}-merged.parquet")
    rows = f"select * from {scan(parts.root, held)} order by {order}"
    _replace(parts, held, Part(relation, str(path.relative_to(parts.root)), 0, lo, hi), rows)


def _join(parts: Parts, relation: str, day: int, held: Sequence[Part]) -> None:
    """Let one part of a day stand for those of its hours, whose rows follow one another."""
    path = (parts.root / held[0].path).with_name(f"{day // DAY_US}-{parts.generation}-joined.parquet")
    inner = [scan(parts.root, [part]) for part in sorted(held, key=lambda part: part.unit_us)]
    rows = " union all by name ".join(f"select * from {one}" for one in inner)
    whole = Part(relation, str(path.relative_to(parts.root)), 0, day, day + DAY_US - 1, day, DAY_US)
    parts.con.execute("set preserve_insertion_order = true")
    _replace(parts, held, whole, rows)


def _replace(parts: Parts, held: Sequence[Part], new: Part, rows: str) -> None:
    target = quote(str(parts.root / new.path))
    found = parts.con.execute(f"copy ({rows}) to {target} (format parquet, compression zstd)").fetchone()
    count, before = int(found[0]) if found else 0, sum(part.rows for part in held)
    if count != before:
        raise AssertionError(f"{new.path}: {count} rows merged of {before}")
    parts.take_out(held)
    parts.add(replace(new, rows=count))
