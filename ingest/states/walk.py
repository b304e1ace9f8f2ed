"""Recompute a state machine over touched hours, and over later ones only as far as its states came out otherwise.

A machine stores, for every hour, the state in which each of its groups left it. So an hour can be worked out from
the hours before it; and where a group leaves the touched hours in the state that was stored before, its later rows
stand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import ClassVar

from ingest.models.relations import HOUR_US
from ingest.states.scope import Scope


class Walk(ABC):
    """A machine over `relation` whose states are stored in `stored`.

    `group` are its key columns there, `tail` gives the aggregates that tell the state of a group after its rows.
    """

    relation: ClassVar[str]
    stored: ClassVar[str]
    group: ClassVar[str]
    tail: ClassVar[dict[str, str]]

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        scope.create(f"fresh_{self.stored}", self.stored)
        scope.con.execute(f"create or replace table states.done_{self.stored} (hour_us bigint)")
        self._old = scope.old(self.stored)

    @abstractmethod
    def replay(self, hours: Sequence[int]) -> None:
        """Add the rows of `hours` to the fresh tables; every hour before them stands, no other lies between."""

    def reach_us(self) -> int:
        """How far a row is looked back on in time where the state does not tell of it."""
        return 0

    def run(self, touched: set[int]) -> set[int]:
        """Recompute what follows from the `touched` hours of the relation; gives the hours that were."""
        stored = self.scope.rows(f"select distinct hour_us from ({self._old}) where hour_us >= {min(touched)}")
        known = sorted(touched.union(hour for (hour,) in stored))
        todo = touched | self._seen_from(sorted(touched), known)
        sizes = self.scope.sizes(self.relation, todo)
        done: set[int] = set()
        ahead = 0
        while todo:
            hours = self._chunk(known, bisect_left(known, min(todo)), todo, sizes, ahead)
            self.replay(hours)
            self.scope.con.execute(
                f"insert into states.done_{self.stored} select unnest([{', '.join(map(str, hours))}]::bigint[])"
            )
            todo -= set(hours)
            done |= set(hours)
            place = bisect_right(known, hours[-1])
            changed = self._next_changed(hours[-1]) if place < len(known) and not self.scope.first else None
            ahead = 0
            if changed is not None:
                ahead = 2 * len(hours) if changed == known[place] else 1
                todo.add(changed)
        return done

    def states_before(self, us: int) -> str:
        """A select of the state of each group as all hours before `us` leave it."""
        stand = f"{self._old} where hour_us not in (select hour_us from states.done_{self.stored})"
        return self._tails(f"{stand} union all by name select * from states.fresh_{self.stored}", us)

    def _tails(self, rows: str, us: int) -> str:
        tail = ", ".join(f"{sql} as {name}" for name, sql in self.tail.items())
        return f"select {self.group}, {tail} from ({rows}) where hour_us < {us} group by {self.group}"

    def _seen_from(self, touched: list[int], known: list[int]) -> set[int]:
        """Known hours whose windows reach into a touched one."""
        reach = self.reach_us()
        seen = set()
        for hour in known if reach else ():
            place = bisect_right(touched, hour) - 1
            if place >= 0 and hour < touched[place] + HOUR_US + reach:
                seen.add(hour)
        return seen

    def _chunk(self, known: list[int], place: int, todo: set[int], sizes: dict[int, int], ahead: int) -> list[int]:
        """Hours from `place` on: those to do, and up to `ahead` where states have changed all along."""
        hours = known[place : place + max(ahead, 1)]
        if missing := [hour for hour in hours if hour not in sizes]:
            sizes.update(dict.fromkeys(missing, 0) | self.scope.sizes(self.relation, missing))
        rows = 0
        chunk: list[int] = []
        for hour in known[place:]:
            if hour not in todo and len(chunk) >= ahead:
                break
            rows += sizes.get(hour, 0)
            if chunk and rows > self.scope.chunk_rows:
                break
            chunk.append(hour)
        return chunk

    def _next_changed(self, hour: int) -> int | None:
        """The first later hour with stored rows of a group that leaves `hour` in another state than it did."""
        before, now = self._tails(self._old, hour + HOUR_US), self.states_before(hour + HOUR_US)
        changed = f"select {self.group} from (({before} except {now}) union all ({now} except {before}))"
        found = self.scope.rows(
            f"select min(hour_us) from ({self._old}) where hour_us > {hour} and ({self.group}) in ({changed})"
        )
        return int(found[0][0]) if found[0][0] is not None else None
