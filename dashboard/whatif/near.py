"""The sent attempts around some spans as arrays, with the cut that the policy makes in each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.context import DAY, Context, texts
from dashboard.tables.ranges import hull
from dashboard.whatif.policy import TRIGGERS, Policy, Rules
from dashboard.whatif.spans import Span, minutes
from dashboard.whatif.statement import template
from dashboard.whatif.walk import Bools, Ints, cumcount

UNCUT = np.iinfo(np.int64).max
FETCHED = "rowid, code, call, us, outcome_code, failed, judged, answered, unfit, late, late_known, latency_ms"

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Near:
    """`columns` have an element for each attempt, by partner and then in time order; `cuts` one for each call: the
    first step that the policy does not send. `step` is an attempt's place among the sent ones of its call.
    """

    cursor: duckdb.DuckDBPyConnection
    sources: dict[str, object]
    codes: dict[str, int]
    columns: Columns
    cuts: Ints

    def of(self, partner: str) -> slice:
        """Where the attempts of a partner stand."""
        code = self.codes[partner]
        lo, hi = np.searchsorted(self.columns["code"], [code, code + 1])
        return slice(int(lo), int(hi))

    def lowest(self, mask: Bools) -> Ints:
        """For each call the first step that is in `mask`; UNCUT where none is."""
        found = np.full(len(self.cuts), UNCUT)
        np.minimum.at(found, self.columns["call"][mask], self.columns["step"][mask])
        return found

    @cached_property
    def answer_steps(self) -> Ints:
        """The first answer of each call."""
        return self.lowest(self.columns["answered"])

    @cached_property
    def judged_steps(self) -> Ints:
        """The first attempt of each call that was not cancelled."""
        return self.lowest(self.columns["judged"])

    @cached_property
    def bid_steps(self) -> Ints:
        """The first bid of each call."""
        return self.lowest(self.columns["outcome_code"] == TRIGGERS.index("bid"))

    @cached_property
    def win_steps(self) -> Ints:
        """Where a win of each call lies: on its first bid, else on its first answer."""
        return np.where(self.bid_steps < UNCUT, self.bid_steps, self.answer_steps)

    def calls_of(self, places: Ints) -> tuple[Ints, Ints]:
        """For each of these attempts when its call began, and how deep that got."""
        self._name(places, {})
        found = self.cursor.execute(template("near_lost", self.sources)).fetchnumpy()
        return np.asarray(found["call_us"]), np.asarray(found["stage"])

    def prices(self, places: Ints, call_us: Ints) -> dict[int, dict[str, Decimal]]:
        """What the calls of these attempts won, by currency and as logged; `call_us` is when they began."""
        told: dict[int, dict[str, Decimal]] = {}
        if places.size:
            self._name(places, {"call_us": call_us})
            for place, currency, price in self.cursor.execute(template("near_prices", self.sources)).fetchall():
                told.setdefault(place, {})[currency] = price
        return told

    def _name(self, places: Ints, more: dict[str, Ints]) -> None:
        rows = {"place": places, "row": self.columns["rowid"][places]}
        self.cursor.register("lost_attempts", pa.table(rows | more))


@contextmanager
def near(snapshot: Snapshot, policy: Policy, spans: Sequence[Span]) -> Iterator[Near]:
    """Load what `spans` need."""
    call_us = int(float(snapshot.settings["call_span_s"]) * 1_000_000)
    codes = {partner: code for code, partner in enumerate(dict.fromkeys(span.partner for span in spans))}
    partners, numbers = minutes(spans)
    sources = _sources(snapshot, spans, call_us)
    with snapshot.cursor() as cursor:
        cursor.register("asked_minutes", pa.table({"partner": partners, "minute": numbers}))
        cursor.register("asked_codes", pa.table({"partner": list(codes), "code": list(codes.values())}))
        cursor.execute(template("near_calls", sources))
        cursor.execute(template("near_attempts", sources | {"condition": "true", "order": ""}))
        columns = _in_order(cursor, sources)
        calls = int(columns["call"].max(initial=-1)) + 1
        rules = [policy.of(partner) for partner in codes]
        yield Near(cursor, sources, codes, columns, policy_cuts(columns, rules, calls))


def _sources(snapshot: Snapshot, spans: Sequence[Span], call_us: int) -> dict[str, object]:
    """What the statements are told: relations, and settings."""
    context = Context(snapshot, Filters(), pruned=True)
    around = hull(tuple((span.lo_us - call_us, span.hi_us + call_us) for span in spans))
    notice_us = int(float(snapshot.settings["notice_days"]) * DAY)
    later = (around[0], None if around[1] is None else around[1] + notice_us)
    return {
        **{name: context.source(name, around) for name in ("attempts", "calls", "chain_steps")},
        "deliveries": context.source("deliveries", later),
        "auctions": context.source("main.auctions", (None, None)),
        "auction_heads": snapshot.models["auction_heads"],
        "triggers": texts(TRIGGERS),
        "partners": texts(list(dict.fromkeys(span.partner for span in spans))),
        "reserve_ms": float(snapshot.settings["reserve_ms"]),
        "span_us": call_us,
    }


def _in_order(cursor: duckdb.DuckDBPyConnection, sources: dict[str, object]) -> Columns:
    """The attempts in the order of their partner and time. Those of one instant, which are few, are put in again in
    their fixed order: to sort all of them by every column would take most of the time.
    """
    cursor.execute(
        "create or replace temp table near_ties as"
        " select code, us from near_attempts group by code, us having count(*) > 1"
    )
    if cursor.execute("select count(*) from near_ties").fetchall() != [(0,)]:
        cursor.execute("delete from near_attempts where (code, us) in (select (code, us) from near_ties)")
        tied = "(partner, x_us(ts)) in (select (partner, us) from near_ties inner join asked_codes using (code))"
        order = template("near_order", {})
        cursor.execute(template("near_attempts", sources | {"condition": tied, "order": order}))
    found: dict[str, Any] = dict(cursor.execute(f"select {FETCHED} from near_attempts").fetchnumpy())
    order_of = np.lexsort((found["rowid"], found["us"], found["code"]))
    columns: Columns = {name: values[order_of] for name, values in found.items()}
    columns["latency_ms"] = np.ma.filled(columns["latency_ms"], np.nan)
    columns["call"] = _numbered(columns["call"])
    columns["step"] = cumcount(columns["call"])
    return columns


def _numbered(calls: NDArray[Any]) -> Ints:
    """Calls by number; attempts that are alone in theirs get numbers of their own."""
    numbers: Ints = np.asarray(np.ma.filled(calls, -1), np.int64)
    alone = np.flatnonzero(numbers < 0)
    numbers[alone] = numbers.max(initial=-1) + 1 + np.arange(alone.size)
    return numbers


def policy_cuts(columns: Columns, rules: Sequence[Rules], calls: int) -> Ints:
    """For each call the first step that the rules of its partner (by code) do not send; UNCUT where they send all."""
    call, step, outcome = columns["call"], columns["step"], columns["outcome_code"]
    order = np.argsort(call, kind="stable")
    trigger = np.zeros(len(call), np.int64)
    trigger[order[1:]] = outcome[order[:-1]]
    allowed = np.array([[own.triggers is None or name in own.triggers for name in TRIGGERS] for own in rules], bool)
    most = np.array([UNCUT if own.max_retries is None else own.max_retries for own in rules])
    guard = np.array([own.budget_guard for own in rules], bool)
    code = columns["code"]
    refused = ~allowed[code, trigger] | (step > most[code]) | (guard[code] & columns["unfit"])
    refused &= step > 0
    cuts = np.full(calls, UNCUT)
    np.minimum.at(cuts, call[refused], step[refused])
    return cuts
