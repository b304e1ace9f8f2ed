"""The postback keys and their habits: what the platform replies, and how each key repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.simulate.partners import Again, Mix, mix

_QUIET = mix(nothing=1)


@dataclass(frozen=True)
class Key:
    """One API key; `share` scales its orders against the auctions, delays are in ms."""

    key_id: str
    share: float
    first: Mix
    tenant: str | None = None
    again: Mapping[str, Again] = field(default_factory=dict)
    max_retries: int = 3
    delay_ms: tuple[int, int] = (900, 4_000)
    """Before a retry, unless a Retry-After is honoured."""
    honours_retry_after: bool = True
    after: Mix = _QUIET
    """What comes after the acceptance: `duplicate`, `idempotent`, `replay`, `rate_limited` or `nothing`."""
    resigns: bool = True
    """A retry is signed anew."""
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
    honours_retry_after=False,
    after=mix(nothing=90, rate_limited=5, duplicate=5),
)
REPEATER = Key(
    "key-twice",
    0.03,
    mix(accepted=97, unexpected_status=3),
    tenant="merchant-3",
    again={"unexpected_status": Again(0.5, mix(accepted=6, unexpected_status=4))},
    after=mix(nothing=45, duplicate=40, idempotent=15),
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
    without_order=0.1,
    conversion_ids=False,
)

ALL = (BEHAVING, HAMMERING, REPEATER, UNSIGNED, PLAIN)
