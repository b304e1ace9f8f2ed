"""expected_pieces: what each interval of the reference breaker holds, by the hour in which it was worked out."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ingest.models.relations import HOUR_US
from ingest.states.breaker import CLOSED, HALF_OPEN, OPEN, Attempts, Flags, Micros, Run
from ingest.states.columns import names_sql
from ingest.states.scope import SLICE_ROWS, between, in_order, integers
from ingest.states.walk import Walk

#: Attempts that the breaker looks at: sent, and not given up by the caller.
SEEN = "outcome in (select outcome from outcomes where grp in ('answered', 'failure'))"
FAILED = "outcome in (select outcome from outcomes where grp = 'failure')"

STATES = (CLOSED, OPEN, HALF_OPEN)
#: Columns of a piece: partner and state by number, `until_us` NEVER where there is none.
COLUMNS = ("who", "hour_us", "place", "state_no", "from_us", "until_us", "attempts", "failures", "blocked")
NEVER = -1
Piece = tuple[int, int, int, int, int, int, int, int, int]


@dataclass(frozen=True)
class Start:
    """A partner's state as a chunk begins: `since` when, and whether it is its very first interval."""

    state: str
    since: int
    is_first: bool


class Expected(Walk):
    """Runs the sent attempts of every partner, all nodes together, through its reference breaker."""

    relation: ClassVar[str] = "attempts"
    stored: ClassVar[str] = "expected_pieces"
    group: ClassVar[str] = "partner"
    tail: ClassVar[dict[str, str]] = {
        "state": "arg_max(state, hour_us + place)",
        "since": "arg_max(from_us, hour_us + place)",
        "is_first": "arg_max(from_us, hour_us + place) = min(from_us)",
    }

    def reach_us(self) -> int:
        settings = self.scope.settings
        return max(settings.breaker(partner).window_us for partner in ["", *json.loads(settings.breaker_partners)])

    def replay(self, hours: Sequence[int]) -> None:
        rows = self.scope.read("attempts", hours)
        counts = self.scope.rows(f"select partner, count(*) from {rows} where {SEEN} group by partner order by partner")
        for partners in _slices(counts):
            chunk = _Chunk(self, partners, rows, hours[0])
            self._insert(chunk.whole_pieces())
            self._insert(_table(chunk.cut_pieces()))

    def _insert(self, pieces: pa.Table) -> None:
        con = self.scope.con
        states = ", ".join(f"'{state}'" for state in STATES)
        con.register("state_pieces", pieces)
        con.execute(
            f"insert into states.fresh_{self.stored} select {names_sql(self.stored)} from (select * replace"
            f" (nullif(until_us, {NEVER}) as until_us), [{states}][state_no + 1] as state"
            " from state_pieces inner join states.who using (who))"
        )
        con.unregister("state_pieces")


class _Chunk:
    """The attempts of some hours in order of partner and time.

    Where attempts of one partner and instant are told apart by outcome alone, failures stand first: if no breaker
    opens then, it opens in no order, and the true one need not be asked for.
    """

    def __init__(self, walk: Expected, partners: list[str], rows: str, begin_us: int) -> None:
        self.walk, self.partners, self.rows, self.begin_us = walk, partners, rows, begin_us
        walk.scope.con.execute(
            "create or replace table states.who as select unnest(?::varchar[]) as partner, unnest(?::bigint[]) as who",
            [partners, list(range(len(partners)))],
        )
        data = walk.scope.arrays(
            f"select who, epoch_us(ts) as us, {FAILED} as failed from {rows} inner join states.who using (partner)"
            f" where {SEEN}"
        )
        self.who, value = in_order(data["who"], data["us"] * 2 + ~data["failed"])
        self.us: Micros = value >> 1
        self.failed: Flags = value & 1 == 0
        self.bounds: list[int] = np.searchsorted(self.who, np.arange(len(partners) + 1)).tolist()
        self.starts = self._starts()
        self.held = self._held()
        self.opening = [who for who in range(len(partners)) if self._may_open(who)]

    def _starts(self) -> list[Start]:
        before = {
            partner: Start(*state) for partner, *state in self.walk.scope.rows(self.walk.states_before(self.begin_us))
        }
        return [
            before.get(partner) or Start(CLOSED, int(self.us[self.bounds[who]]), is_first=True)
            for who, partner in enumerate(self.partners)
        ]

    def _held(self) -> dict[int, tuple[Micros, Flags]]:
        """What the windows of closed breakers already hold, by partner: times and failures."""
        reach = self.begin_us - self.walk.reach_us()
        if all(start.since >= self.begin_us for start in self.starts):
            return {}
        scope = self.walk.scope
        data = scope.arrays(
            f"select who, epoch_us(ts) as us, {FAILED} as failed from {scope.scan('attempts', reach, self.begin_us)}"
            " inner join states.who using (partner)"
            f" where {between('attempts', reach, self.begin_us)} and {SEEN} order by who, us, failed"
        )
        held = {}
        bounds = np.searchsorted(data["who"], np.arange(len(self.partners) + 1))
        for who, (lo, hi) in enumerate(pairwise(bounds.tolist())):
            start = self.starts[who]
            lo += int(np.searchsorted(data["us"][lo:hi], start.since))
            if not start.is_first and lo < hi and data["us"][lo] == start.since:
                lo += 1  # the probe that closed it, answered, emptied the window
            if lo < hi and start.state == CLOSED:
                held[who] = (data["us"][lo:hi], data["failed"][lo:hi])
        return held

    def _attempts(self, who: int, own: Flags | None = None) -> tuple[Attempts, int]:
        """A partner's attempts, and how many of them come before the chunk; `own` failures in the true order."""
        lo, hi = self.bounds[who], self.bounds[who + 1]
        us, failed = self.us[lo:hi], self.failed[lo:hi] if own is None else own
        held = self.held.get(who)
        if held is not None:
            us, failed = np.concatenate((held[0], us)), np.concatenate((held[1], failed))
        breaker = self.walk.scope.settings.breaker(self.partners[who])
        return Attempts(us, failed, breaker), len(us) - (hi - lo)

    def _may_open(self, who: int) -> bool:
        if self.starts[who].state != CLOSED:
            return True
        failures = int(np.count_nonzero(self.failed[self.bounds[who] : self.bounds[who + 1]]))
        failures += int(np.count_nonzero(self.held[who][1])) if who in self.held else 0
        breaker = self.walk.scope.settings.breaker(self.partners[who])
        if failures / breaker.min_attempts < breaker.failure_share:
            return False
        attempts, before = self._attempts(who)
        return attempts.first_trip(before, 0) < len(attempts.us)

    def whole_pieces(self) -> pa.Table:
        """Pieces of the partners whose breaker stays closed: one an hour."""
        hour = self.us // HOUR_US
        edges = np.flatnonzero((np.diff(hour, prepend=-1) != 0) | (np.diff(self.who, prepend=-1) != 0))
        who, counts = self.who[edges], np.diff(edges, append=len(self.us))
        failures = np.add.reduceat(self.failed, edges, dtype=np.int64)
        keep = ~np.isin(who, self.opening)
        since = np.array([start.since for start in self.starts])
        zeros = np.zeros(int(np.count_nonzero(keep)), np.int64)
        return integers(
            who=who[keep],
            hour_us=hour[edges][keep] * HOUR_US,
            place=zeros,
            state_no=zeros + STATES.index(CLOSED),
            from_us=since[who[keep]],
            until_us=zeros + NEVER,
            attempts=counts[keep],
            failures=failures[keep],
            blocked=zeros,
        )

    def cut_pieces(self) -> Iterator[Piece]:
        """Pieces of the partners whose breaker is or may come open."""
        for who, failed in self._in_order():
            attempts, before = self._attempts(who, failed)
            start = self.starts[who]
            runs = attempts.replay(before, start.state, start.since)
            yield from _pieces(who, attempts, before, runs)

    def _in_order(self) -> Iterator[tuple[int, Flags]]:
        """The partners of `opening` with their failures in the true order of attempts."""
        mixed = np.zeros(len(self.us), np.bool_)
        mixed[1:] = (np.diff(self.us) == 0) & (np.diff(self.who) == 0) & (self.failed[1:] != self.failed[:-1])
        mixed &= np.isin(self.who, self.opening)
        failed = self.failed.copy()
        if mixed.any():
            ties = integers(who=self.who[mixed], us=self.us[mixed])
            con = self.walk.scope.con
            con.register("state_ties", ties)
            true = self.walk.scope.arrays(
                f"select {FAILED} as failed from {self.rows} inner join states.who using (partner)"
                f" semi join state_ties on who.who = state_ties.who and epoch_us(ts) = state_ties.us where {SEEN}"
                " order by who.who, ts, attempt asc nulls last, request_id asc nulls last, failed desc"
            )["failed"]
            con.unregister("state_ties")
            tied = np.zeros(len(self.us), np.bool_)
            for who, us in zip(self.who[mixed].tolist(), self.us[mixed].tolist(), strict=True):
                lo, hi = self.bounds[who], self.bounds[who + 1]
                left, right = np.searchsorted(self.us[lo:hi], [us, us + 1]) + lo
                tied[left:right] = True
            failed[tied] = true
        for who in self.opening:
            yield who, failed[self.bounds[who] : self.bounds[who + 1]]


def _slices(counts: list[tuple[str, int]]) -> Iterator[list[str]]:
    """Partners that are worked on together: all of them, unless they have very many attempts."""
    partners: list[str] = []
    total = 0
    for partner, count in counts:
        if partners and total + count > SLICE_ROWS:
            yield partners
            partners, total = [], 0
        partners.append(partner)
        total += count
    if partners:
        yield partners


def _pieces(who: int, attempts: Attempts, before: int, runs: list[Run]) -> Iterator[Piece]:
    """The runs cut by hour; an interval has a piece in the hour in which it began, be it without rows."""
    hours = attempts.us // HOUR_US * HOUR_US
    edges = (np.flatnonzero(np.diff(hours[before:])) + before + 1).tolist()
    failures = np.concatenate(([0], np.cumsum(attempts.failed)))
    places: dict[int, int] = {}
    for number, (state, since, start, stop) in enumerate(runs):
        cuts = [start, *edges[bisect_right(edges, start) : bisect_left(edges, stop)], stop]
        spans = [(int(hours[lo]), lo, hi) for lo, hi in pairwise(cuts) if lo < hi]
        born = int(hours[start - 1]) if number and state != HALF_OPEN else None
        if born is not None and (not spans or spans[0][0] != born):
            spans.insert(0, (born, start, start))
        until = since + attempts.breaker.open_us if state == OPEN else NEVER
        for hour, lo, hi in spans:
            place = places[hour] = places.get(hour, -1) + 1
            blocked = hi - lo if state == OPEN else 0
            lost = int(failures[hi] - failures[lo])
            yield who, hour, place, STATES.index(state), since, until, hi - lo, lost, blocked


def _table(pieces: Iterator[Piece]) -> pa.Table:
    rows = np.array(list(pieces), np.int64).reshape(-1, len(COLUMNS))
    return integers(**{name: rows[:, place] for place, name in enumerate(COLUMNS)})
