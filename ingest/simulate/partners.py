"""The demand partners and their characters: how each answers, and how the exchange repeats its calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from ingest.simulate.backoff import Backoff

Mix = tuple[tuple[float, str], ...]
"""Outcomes with their cumulated chance, ascending to 1."""


def mix(**weights: float) -> Mix:
    """Cumulated chances of the weighted names."""
    total = sum(weights.values())
    reached = 0.0
    steps = []
    for name, weight in weights.items():
        reached += weight
        steps.append((reached / total, name))
    return tuple(steps)


def draw(rng: Random, choices: Mix) -> str:
    """One name by its chance."""
    point = rng.random()
    for reached, name in choices:
        if point < reached:
            return name
    return choices[-1][1]


@dataclass(frozen=True, slots=True)
class Again:
    """What follows an outcome: the chance of one more attempt, and how that one ends."""

    chance: float
    then: Mix


_UNEXPLAINED = mix(no_reason=1)


@dataclass(frozen=True)
class Partner:
    """One partner; times in ms, `share` is the part of the auctions in which it is called."""

    name: str
    share: float
    first: Mix
    base_ms: int = 25
    spread_ms: int = 70
    timeout_ms: int = 120
    style: str = "object"
    """How answers are logged: `object` or `text` (a body), `columns`, `bare` (a status only)."""
    again: Mapping[str, Again] = field(default_factory=dict)
    max_retries: int = 2
    backoff_ms: tuple[int, int] = (4, 15)
    """The delay lies anywhere between the two, unless there is a rule for it."""
    backoff: Backoff | None = None
    tells_backoff: bool = True
    """Retries carry `backoff_ms`."""
    guarded: bool = True
    """The exchange sends no retry for which the time budget has no room."""
    reasons: Mix = _UNEXPLAINED
    """The no-bid reasons it gives: a code as text, `no_reason`, or `invalid` for a code that is none."""
    currency: str = "USD"
    breaker: str = ""
    """What is reported: `events` (and the column), `column`, `closed` (a column that never changes), or nothing."""
    storm: Mix | None = None
    """How it answers while a storm lasts."""
    armed_s: tuple[int, int] | None = (4, 12)
    """The breaker trips between so many seconds after a storm began; None: it never does."""
    blinking: bool = False
    """Its breaker opens for less than a second at a time."""
    leaks: float = 0.0
    """The part of the attempts that are sent although the breaker is open."""
    burst: float = 0.0
    """So many auctions a second that call it alone, in the first minute of a storm."""
    notice_backoff: Backoff | None = None
    """Its notices often fail, and are delivered again by this rule until they do not."""
    reduces_tmax: bool = True
    """The `tmax_ms` sent is what is left of the budget."""
    tells_ids: bool = True
    """Attempts carry `request_id`."""
    fresh_ids: bool = False
    first_number: int = 1
    repeats_numbers: bool = False
    timed: bool = True
    """Attempts tell elapsed_ms, timeout_ms and tmax_ms."""


_STEADY = Backoff("fixed", 20)
_GOOD = mix(bid=30, no_bid=69, timeout=0.6, connect_error=0.4)
_REASONS = mix(**{"no_reason": 50, "0": 5, "1": 3, "6": 4, "7": 4, "8": 10, "9": 6, "10": 3, "15": 3, "16": 1, "17": 1})

HEALTHY = Partner(
    "northbid",
    0.9,
    _GOOD,
    breaker="closed",
    reasons=_REASONS,
    backoff=_STEADY,
    again={"connect_error": Again(0.8, mix(bid=4, no_bid=5, connect_error=1))},
)
PLAIN = Partner("plainbid", 0.6, mix(bid=25, no_bid=74.5, timeout=0.5), style="columns", reasons=_REASONS)
EURO = Partner(
    "eurobid",
    0.5,
    mix(bid=35, no_bid=64, server_error=1),
    style="text",
    currency="EUR",
    reasons=mix(**{"no_reason": 6, "8": 2, "11": 1, "12": 1, "13": 1, "14": 1}),
    notice_backoff=Backoff("fixed", 10_000),
    again={"server_error": Again(0.7, mix(bid=4, no_bid=4, server_error=2))},
)
FLAKY = Partner(
    "flakywire",
    0.6,
    mix(bid=28, no_bid=42, connect_error=24, tls_error=3, reset=3),
    reasons=_REASONS,
    backoff=Backoff("fixed", 24, jitter="half"),
    tells_backoff=False,
    again={
        "connect_error": Again(0.92, mix(bid=42, no_bid=44, connect_error=14)),
        "tls_error": Again(0.6, mix(no_bid=4, bid=2, tls_error=4)),
    },
)
SLOW = Partner(
    "slowriver",
    0.5,
    mix(bid=12, no_bid=58, timeout=30),
    base_ms=60,
    spread_ms=90,
    timeout_ms=150,
    style="columns",
    reasons=mix(**{"no_reason": 3, "15": 1}),
    again={"timeout": Again(0.85, mix(timeout=97, connect_error=3)), "connect_error": Again(0.5, mix(timeout=1))},
    max_retries=1,
    guarded=False,
)
STORMY = Partner(
    "stormgate",
    0.7,
    mix(bid=26, no_bid=72, server_error=2),
    breaker="events",
    storm=mix(server_error=84, timeout=6, reset=3, no_bid=7),
    again={
        "server_error": Again(0.6, mix(bid=2, no_bid=4, server_error=4)),
        "timeout": Again(0.1, mix(timeout=7, no_bid=3)),
    },
    reasons=_REASONS,
)
FILTER = Partner(
    "puregate",
    0.6,
    mix(bid=18, no_bid=82),
    style="text",
    reasons=mix(**{"2": 20, "3": 15, "4": 30, "5": 25, "no_reason": 10}),
    again={"no_bid": Again(0.02, mix(no_bid=1))},
    max_retries=1,
)
THROTTLING = Partner(
    "capwell",
    0.6,
    mix(bid=24, no_bid=46, rate_limited=30),
    reasons=mix(**{"no_reason": 4, "9": 3, "10": 3}),
    again={"rate_limited": Again(0.5, mix(rate_limited=985, no_bid=15))},
)
REPEATING = Partner(
    "echobid",
    0.5,
    mix(bid=22, no_bid=77, connect_error=1),
    fresh_ids=True,
    backoff=Backoff("immediate"),
    tells_backoff=False,
    reasons=mix(**{"no_reason": 6, "2": 1, "8": 2, "400": 1, "712": 1}),
    again={"no_bid": Again(0.55, mix(no_bid=1))},
)
MARKED = Partner(
    "colmark",
    0.5,
    mix(bid=24, no_bid=72, server_error=4),
    style="columns",
    breaker="column",
    storm=mix(server_error=75, connect_error=15, no_bid=10),
    first_number=0,
    again={
        "server_error": Again(0.4, mix(no_bid=4, server_error=6)),
        "connect_error": Again(0.6, mix(no_bid=5, bid=3, connect_error=2)),
    },
    reasons=mix(**{"no_reason": 7, "invalid": 1, "1": 2}),
)
PROXY = Partner(
    "proxyline",
    0.3,
    mix(answered_unknown=80, no_bid=12, server_error=5, timeout=3),
    style="bare",
    timed=False,
    tells_ids=False,
    again={"server_error": Again(0.5, mix(answered_unknown=6, server_error=4))},
    max_retries=1,
)
_ODD_END = mix(
    bid=20, no_bid=40, reset=10, invalid_response=10, server_error=10, unknown_error=5, cancelled=5, not_sent_limit=5
)
ODD = Partner(
    "oddlot",
    0.5,
    mix(
        bid=20,
        no_bid=24,
        tls_error=6,
        reset=6,
        invalid_response=8,
        unexpected_status=6,
        client_error=7,
        unknown_error=5,
        cancelled=5,
        server_error=4,
        not_sent_limit=6,
        timeout=3,
    ),
    reasons=mix(**{"no_reason": 5, "invalid": 2, "18": 1, "499": 1, "500": 1, "0": 1}),
    repeats_numbers=True,
    guarded=False,
    max_retries=4,
    again={
        "tls_error": Again(0.5, _ODD_END),
        "reset": Again(0.4, _ODD_END),
        "invalid_response": Again(0.4, _ODD_END),
        "unexpected_status": Again(0.3, mix(unexpected_status=9, no_bid=1)),
        "client_error": Again(0.3, mix(client_error=1)),
        "unknown_error": Again(0.5, _ODD_END),
        "cancelled": Again(0.3, mix(bid=3, no_bid=4, reset=3)),
        "server_error": Again(0.4, _ODD_END),
        "not_sent_limit": Again(0.3, mix(bid=3, no_bid=4, reset=2, not_sent_limit=1)),
        "bid": Again(0.02, mix(bid=7, no_bid=3)),
    },
)
BLINKING = Partner(
    "blinkbid",
    0.3,
    mix(bid=25, no_bid=74, connect_error=1),
    breaker="events",
    blinking=True,
    reasons=_REASONS,
    again={"connect_error": Again(0.8, mix(bid=3, no_bid=6, connect_error=1))},
)
LATE_FUSE = Partner(
    "latefuse",
    0.25,
    mix(bid=24, no_bid=75, server_error=1),
    breaker="events",
    storm=mix(server_error=80, timeout=12, no_bid=8),
    armed_s=(30, 45),
    leaks=0.3,
    burst=4.0,
    style="columns",
    reasons=_REASONS,
    again={"server_error": Again(0.5, mix(no_bid=2, server_error=8))},
)
NO_FUSE = Partner(
    "nofuse",
    0.25,
    mix(bid=24, no_bid=75, connect_error=1),
    breaker="closed",
    storm=mix(connect_error=55, server_error=30, no_bid=15),
    armed_s=None,
    burst=4.0,
    style="columns",
    reasons=_REASONS,
    reduces_tmax=False,
    again={"connect_error": Again(0.6, mix(no_bid=3, connect_error=7))},
)

ALL = (
    HEALTHY,
    PLAIN,
    EURO,
    FLAKY,
    SLOW,
    STORMY,
    FILTER,
    THROTTLING,
    REPEATING,
    MARKED,
    PROXY,
    ODD,
    BLINKING,
    LATE_FUSE,
    NO_FUSE,
)
