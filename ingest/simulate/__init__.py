"""Seeded native logs with known truth.

`simulate` plays partners and postback keys of known character and writes what an exchange and an affiliate
platform would have logged. Each thing is told to `Truth` when it is made; `truth.json` is that account.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from ingest.errors import InputError
from ingest.simulate.agenda import Agenda
from ingest.simulate.broken import BrokenLines
from ingest.simulate.exchange import Exchange
from ingest.simulate.exchange_log import ExchangeLog
from ingest.simulate.notices import Notices
from ingest.simulate.partners import Partner
from ingest.simulate.postbacks import Postbacks
from ingest.simulate.scenarios import SCENARIOS, Scenario
from ingest.simulate.seekers import SHARE, Seeking, seekers
from ingest.simulate.stats import DAY_US, to_us
from ingest.simulate.timeline import SECOND, Breaker, blinks, storms
from ingest.simulate.truth import Truth
from ingest.simulate.writer import SUFFIXES, LogWriter

__all__ = ["DEFAULT_START", "SCENARIOS", "simulate"]

DEFAULT_START = datetime(2026, 9, 14, 10, 0, tzinfo=UTC)
_MINUTE = 60 * SECOND
_BURST_STORM = 2 * _MINUTE
"""The longest storm that comes with a burst of calls."""


def simulate(
    out: Path,
    seed: int,
    minutes: int,
    auctions_per_second: float,
    scenario: str = "default",
    *,
    start: datetime = DEFAULT_START,
    days: int = 1,
    compress: str = "none",
    bad_lines: int = 0,
    blank_lines: int = 0,
) -> dict[str, Any]:
    """Write logs and `truth.json` into the folder `out`; return the truth.

    The same arguments write the same bytes. `minutes` run from `start` (a moment with a zone) on each of `days`
    days in a row; runs of a day and more follow the clock, with busy evenings and quiet mornings. `compress` is
    none, gz or zst. `bad_lines` are lines of several broken kinds; every fourth is an attempt with a NaN latency,
    which is mended, not rejected. The truth has the result tables, `_lines` (lines, facts, rejects, blank) and
    `_mended` (facts by key). Raises InputError for an argument out of range, or when `out` already holds logs.
    """
    world = _checked(out, minutes, auctions_per_second, scenario, start, days, compress, bad_lines, blank_lines)
    end = to_us(start) + (days - 1) * DAY_US + minutes * _MINUTE
    run = _Run(out, seed, world, auctions_per_second, compress, end)
    for day in range(days):
        begin = to_us(start) + day * DAY_US
        share = [count * (day + 1) // days - count * day // days for count in (bad_lines, blank_lines)]
        run.session(begin, begin + minutes * _MINUTE, *share)
    return run.finish()


def _checked(
    out: Path,
    minutes: int,
    rate: float,
    scenario: str,
    start: datetime,
    days: int,
    compress: str,
    bad_lines: int,
    blank_lines: int,
) -> Scenario:
    """The scenario of that name, when all arguments can be used."""
    if scenario not in SCENARIOS:
        raise InputError(f"no scenario named {scenario!r}: choose one of {', '.join(SCENARIOS)}")
    if compress not in SUFFIXES:
        raise InputError(f"no compression named {compress!r}: choose one of {', '.join(SUFFIXES)}")
    if minutes < 1 or days < 1 or min(bad_lines, blank_lines) < 0:
        raise InputError("minutes and days must be at least 1, bad and blank lines at least 0")
    if not (math.isfinite(rate) and rate > 0):
        raise InputError(f"auctions per second must be a number above 0, not {rate}")
    if days > 1 and minutes > DAY_US // _MINUTE:
        raise InputError("with several days, minutes must fit one day (1440)")
    if start.tzinfo is None:
        raise InputError(f"the start needs a zone: {start.isoformat()}Z, for example")
    if out.is_dir() and any(path.name == "truth.json" or ".jsonl" in path.suffixes for path in out.iterdir()):
        raise InputError(f"{out} already holds logs: name a new folder")
    return SCENARIOS[scenario]


class _Run:
    """The moving parts of one run."""

    def __init__(self, out: Path, seed: int, world: Scenario, rate: float, compress: str, end: int) -> None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{out}: cannot be made ({error.strerror}); name another folder") from None
        self.out = out
        self.world = world
        self.rate = rate
        self.truth = Truth({partner.name for partner in world.partners if partner.breaker})
        self.writer = LogWriter(out, compress)
        self.clock = Random(f"{seed} clock")
        self.agenda = Agenda()
        self.breakers = {
            partner.name: Breaker([], partner.armed_s, partner.blinking)
            for partner in world.partners
            if partner.storm or partner.blinking
        }
        self.postbacks = Postbacks(Random(f"{seed} orders"), world.keys, self.writer, self.truth, end)
        auctions = Random(f"{seed} auctions")
        again = {partner.name: partner.notice_backoff for partner in world.partners if partner.notice_backoff}
        for name, backoff in again.items():
            self.truth.backoff.sender("notice", name, backoff)
        notices = Notices(auctions, self.writer, self.truth, world.billing, self.postbacks, again)
        log = ExchangeLog(auctions, self.writer)
        self.exchange = Exchange(auctions, world.partners, notices, log, self.truth, self.breakers)
        placements = seekers() if world.partners else []
        self.seeking = Seeking(self.clock, self.exchange, self.truth, self.agenda.plan, placements)
        unreported = next((partner for partner in world.partners if not partner.breaker), None)
        nan_partner = unreported or next(iter(world.partners), None)
        self.broken = BrokenLines(Random(f"{seed} broken"), self.writer, self.truth, nan_partner, bool(world.keys))

    def session(self, begin: int, end: int, bad_lines: int, blank_lines: int) -> None:
        """One unbroken stretch of time."""
        self._brew(begin, end)
        for _ in range(bad_lines):
            self.broken.add(self.clock.randrange(begin, end))
        for _ in range(blank_lines):
            self.broken.blank(self.clock.randrange(begin, end))
        whole_days = end - begin >= DAY_US
        for minute in range(begin, end, _MINUTE):
            rate = self.rate * (_daily(minute) if whole_days else 1.0)
            if self.world.partners:
                self._plan_auctions(minute, rate)
            self.agenda.play(minute + _MINUTE)
            for key in self.world.keys:
                if minute < begin + (end - begin) * key.active:
                    for ts in self._moments(minute, rate * key.share):
                        self.postbacks.spontaneous(key, ts)
            self.writer.flush(minute + _MINUTE)
        self.agenda.play()

    def _brew(self, begin: int, end: int) -> None:
        """Decide when the partners that have storms will have them, and plan the bursts of calls to some."""
        for partner in self.world.partners:
            breaker = self.breakers.get(partner.name)
            if breaker is None:
                continue
            coming = (blinks if partner.blinking else storms)(self.clock, begin, end)
            if partner.burst:
                coming = [(start, min(over, start + _BURST_STORM)) for start, over in coming]
                self._plan_bursts(partner, coming)
            breaker.storms = [*breaker.storms, *coming]

    def _plan_bursts(self, partner: Partner, coming: Sequence[tuple[int, int]]) -> None:
        for start, over in coming:
            for ts in self._moments(start, partner.burst, min(over, start + _MINUTE)):
                self.agenda.plan(ts, partial(self.exchange.deal, partner=partner))

    def _plan_auctions(self, minute: int, rate: float) -> None:
        for ts in self._moments(minute, rate):
            self.agenda.plan(ts, self.exchange.auction)
        for seeker in self.seeking.placements:
            for ts in self._moments(minute, rate * SHARE):
                self.agenda.plan(ts, partial(self.seeking.start, seeker))

    def _moments(self, begin: int, rate: float, end: int | None = None) -> Iterator[int]:
        """Moments of a minute (or up to `end`), at so many a second on average."""
        end = begin + _MINUTE if end is None else end
        ts = begin + self.clock.expovariate(rate) * SECOND
        while ts < end:
            yield int(ts)
            ts += self.clock.expovariate(rate) * SECOND

    def finish(self) -> dict[str, Any]:
        """Close the logs, write and return the truth."""
        self.writer.close()
        counted = self.writer.lines
        truth = self.truth.tables()
        truth["_lines"] = {
            "lines": counted.total(),
            "facts": counted["facts"],
            "rejects": counted["rejects"],
            "blank": counted["blank"],
        }
        (self.out / "truth.json").write_text(_as_text(truth), encoding="utf-8")
        return truth


def _as_text(truth: dict[str, Any]) -> str:
    """JSON, a row on each line."""
    tables = []
    for name, rows in truth.items():
        if isinstance(rows, list):
            lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
            text = f"[\n{lines}\n]" if rows else "[]"
        else:
            text = json.dumps(rows)
        tables.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(tables) + "\n}\n"


def _daily(ts: int) -> float:
    """Load at that moment of the day against the mean: least at 4, most at 16 UTC."""
    hour = ts % DAY_US / (3600 * SECOND)
    return 1 - 0.6 * math.cos((hour - 4) / 24 * 2 * math.pi)
