"""The postback keys and their habits: what the platform replies, and how each key repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.simulate.backoff import Backoff
from ingest.simulate.partners import Again, Mix, mix

ENDPOINT = "/api/v1/postback"
_QUIET = mix(nothing=1)
_OBEDIENT = mix(obey=1)


@dataclass(frozen=True, slots=True)
class Limiter:
    """The platform refuses what comes after `limit` requests of one client in a window of `window_s`."""

    limit: int
    window_s: int
    told: float
    """The part of the replies that carry both."""


@dataclass(frozen=True)
class Key:
    """One API key; `share` scales its orders against the auctions, delays are in ms."""

    key_id: str
    share: float
    first: Mix
    tenant: str | None = None
    endpoints: tuple[str | None, ...] = (ENDPOINT,)
    again: Mapping[str, Again] = field(default_factory=dict)
    max_retries: int = 3
    delay_ms: tuple[int, int] = (900, 4_000)
    """Before a retry, unless a Retry-After is heeded or there is a rule for it."""
    backoff: Backoff | None = None
    heeds: Mix = _OBEDIENT
    """What it does about a Retry-After: `obey`, `early`, `late`, `quit` the order, or `ignore`."""
    waits_s: tuple[int, int] = (1, 8)
    """What the platform asks of it in a Retry-After."""
    one_at_a_time: bool = False
    """No order begins before the one before it has ended."""
    active: float = 1.0
    """The part of a session, from its begin, in which it sends."""
    sleeps: float = 0.0
    """The part of the retries that come more than a day later."""
    burst: tuple[int, int] = (1, 2)
    """So many postbacks at a time, but less than the second number."""
    limiter: Limiter | None = None
    clients: int = 0
    """So many addresses send for it; 0: one, which is always told."""
    converts: bool = True
    """Clicks lead to orders of this key."""
    earlier: float = 0.0
    """The part of the first acceptances that repeat one from before the data."""
    after: Mix = _QUIET
    """What comes after the acceptance: `duplicate`, `idempotent`, `replay`, `rate_limited` or `nothing`; or a fault:
    `second_id`, `unmarked`, `other_amount`, `other_currency` or `other_body`."""
    resigns: bool = True
    """A retry is signed anew."""
    signs: bool = True
    wrong_clock: float = 0.0
    """The part of the requests whose stamp is too old though nobody says so."""
    idempotency_keys: bool = False
    reuses_keys: float = 0.0
    """The part of the orders that take the idempotency key of the order before."""
    amounts: bool = True
    without_order: float = 0.0
    """The part of its postbacks that name no order."""
    conversion_ids: bool = True


BEHAVING = Key(
    "key-calm",
    0.06,
    mix(accepted=86, rate_limited=9, server_error=5),
    tenant="merchant-1",
    again={
        "rate_limited": Again(1.0, mix(accepted=9, rate_limited=1)),
        "server_error": Again(0.9, mix(accepted=7, server_error=3)),
    },
    after=mix(nothing=97, duplicate=3),
)
HAMMERING = Key(
    "key-hammer",
    0.03,
    mix(accepted=45, rate_limited=52, server_error=3),
    tenant="merchant-2",
    again={
        "rate_limited": Again(0.95, mix(accepted=3, rate_limited=97)),
        "server_error": Again(0.9, mix(accepted=3, rate_limited=7)),
    },
    max_retries=14,
    delay_ms=(3, 80),
    heeds=mix(ignore=1),
    after=mix(nothing=90, rate_limited=5, duplicate=5),
)
REPEATER = Key(
    "key-twice",
    0.03,
    mix(accepted=97, unexpected_status=3),
    tenant="merchant-3",
    again={"unexpected_status": Again(0.5, mix(accepted=6, unexpected_status=4))},
    after=mix(nothing=45, duplicate=40, idempotent=15),
    idempotency_keys=True,
)
UNSIGNED = Key(
    "key-skewed",
    0.03,
    mix(accepted=70, stale_timestamp=20, replay=10),
    tenant="merchant-4",
    again={
        "stale_timestamp": Again(0.8, mix(accepted=5, stale_timestamp=3, replay=2)),
        "replay": Again(0.5, mix(accepted=3, replay=7)),
    },
    after=mix(nothing=8, replay=2),
    resigns=False,
    wrong_clock=0.04,
)
PLAIN = Key(
    "key-plain",
    0.03,
    mix(accepted=72, client_error=16, server_error=8, unexpected_status=4),
    again={
        "client_error": Again(0.7, mix(client_error=1)),
        "server_error": Again(0.8, mix(accepted=5, server_error=4, client_error=1)),
        "unexpected_status": Again(0.5, mix(accepted=1, unexpected_status=1)),
    },
    after=mix(nothing=9, duplicate=1),
    endpoints=(ENDPOINT, ENDPOINT, None),
    sleeps=0.02,
    without_order=0.1,
    conversion_ids=False,
)
FAULTY = Key(
    "key-faulty",
    0.03,
    mix(accepted=80, client_error=10, rate_limited=10),
    tenant="merchant-5",
    again={"rate_limited": Again(0.9, mix(accepted=7, rate_limited=3))},
    earlier=0.08,
    after=mix(
        nothing=52, second_id=10, unmarked=10, other_amount=6, other_currency=4, other_body=6, duplicate=6, idempotent=6
    ),
    idempotency_keys=True,
    reuses_keys=0.03,
    converts=False,
)
BODIES = Key(
    "key-bodies",
    0.01,
    mix(accepted=1),
    tenant="merchant-6",
    after=mix(nothing=7, other_body=2, duplicate=1),
    idempotency_keys=True,
    amounts=False,
    signs=False,
    converts=False,
)
PACED = Key(
    "key-paced",
    0.02,
    mix(accepted=45, rate_limited=55),
    tenant="merchant-7",
    again={"rate_limited": Again(1.0, mix(accepted=55, rate_limited=45))},
    heeds=mix(obey=5, early=3, late=2),
    waits_s=(2, 7),
    max_retries=8,
    one_at_a_time=True,
    converts=False,
)
QUITTING = Key(
    "key-quits",
    0.01,
    mix(rate_limited=1),
    tenant="merchant-8",
    endpoints=("/api/v2/postback",),
    heeds=mix(quit=1),
    waits_s=(3, 6),
    again={"rate_limited": Again(1.0, mix(rate_limited=1))},
    active=0.6,
    converts=False,
)
BANNED = Key(
    "key-banned",
    0.005,
    mix(rate_limited=1),
    tenant="merchant-10",
    heeds=mix(quit=1),
    waits_s=(3_000, 3_601),
    converts=False,
)
EXCHANGE_CALLER = Key(
    "key-quotes",
    0.004,
    mix(accepted=1),
    endpoints=("/api/v1/exchange/quote",),
    burst=(4, 40),
    limiter=Limiter(20, 60, 0.0),
    clients=3,
    without_order=1.0,
    signs=False,
    conversion_ids=False,
    converts=False,
)
REDIRECTS = Key(
    "key-clicks",
    0.03,
    mix(unexpected_status=95, client_error=5),
    endpoints=("/r/offer", "/p/pixel"),
    clients=6,
    without_order=1.0,
    signs=False,
    conversion_ids=False,
    converts=False,
)
METERED = Key(
    "key-metered",
    0.006,
    mix(accepted=1),
    tenant="merchant-9",
    burst=(1, 12),
    limiter=Limiter(5, 10, 0.8),
    without_order=0.5,
    converts=False,
)
OTHERS = (
    BEHAVING,
    HAMMERING,
    REPEATER,
    UNSIGNED,
    PLAIN,
    FAULTY,
    BODIES,
    PACED,
    QUITTING,
    BANNED,
    EXCHANGE_CALLER,
    REDIRECTS,
    METERED,
)


def _sender(name: str, backoff: Backoff) -> Key:
    """A key whose orders mostly fail for a while, so that its delays show."""
    return Key(
        f"key-{name}",
        0.01,
        mix(accepted=25, server_error=75),
        tenant=f"sender-{name}",
        again={"server_error": Again(1.0, mix(accepted=18, server_error=82))},
        max_retries=10,
        backoff=backoff,
        converts=False,
    )


SENDERS = (
    _sender("now", Backoff("immediate")),
    _sender("fixed", Backoff("fixed", 2_000)),
    _sender("linear", Backoff("linear", 1_500)),
    _sender("doubling", Backoff("exponential", 500, 16_000)),
    _sender("full", Backoff("exponential", 200, 10_000, jitter="full")),
    _sender("half", Backoff("exponential", 1_000, 30_000, jitter="half")),
    _sender("cron", Backoff("fixed", 10_000, tick_s=10)),
)

ALL = (*OTHERS, *SENDERS)
