"""The result tables of native logs by brute force: small, slow and meant to be obviously right.

It shares no code with the product: everything is counted from the raw lines, one definition a function, so that
property tests can hold the product's tables against it. `load` reads files, `table` gives one result table in the
shape of `show --format json`; `logs` makes random logs.

What the definitions leave open is settled thus: instants have six digits; `funnel.position` counts from 1 and the
first stage has no `of_previous`; `no_bids.name` is None where the reason is no code; `rate_limits` has no row
where nothing was sent; the revenue of a priced `notices` row without a unique notice in the range is 0; a
notice's call is that of its first delivery, while any delivery proves a stage; a winner is joined at the event
that told it; a call with no retry but cancelled ones is `not_retried`; `revenue_at_risk` counts win notices and
is None on postbacks; `ms_saved_per_day` sums the known latencies and is None without any.
"""

from collections.abc import Callable

from . import breakers, counts, flags, funnels, retries
from .calls import Model
from .lines import Facts, Row, load
from .selection import Selection

TABLES: dict[str, Callable[[Model, Selection], list[Row]]] = {
    "funnel": funnels.funnel,
    "losses": funnels.losses,
    "outcomes": counts.outcomes,
    "no_bids": counts.no_bids,
    "calls": retries.calls,
    "retries": retries.retries,
    "fate": retries.fate,
    "flags": flags.flags,
    "breakers": breakers.breakers,
    "rate_limits": counts.rate_limits,
    "notices": counts.notices,
    "latency": counts.latency,
}


def table(
    name: str, facts: Facts, frm: int | None = None, to: int | None = None, partners: list[str] | None = None
) -> list[Row]:
    """One result table; `frm` and `to` are epoch microseconds, half-open, and None leaves a filter out."""
    selection = Selection(frm, to, None if partners is None else tuple(partners))
    return TABLES[name](Model(facts), selection)


__all__ = ["TABLES", "Facts", "load", "table"]
