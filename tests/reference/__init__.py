"""The result tables of native logs by brute force: small, slow and meant to be obviously right.

It shares no code with the product: everything is counted from the raw lines, one definition a function, so that
property tests can hold the product's tables against it. `load` reads files, `table` gives one result table in the
shape of `show --format json`; `logs` makes random logs, `compare` holds the product against it.

What the definitions leave open is settled thus: instants have six digits; `funnel.position` counts from 1 and the
first stage has no `of_previous`; `no_bids.name` is None where the reason is no code; `rate_limits` has no row
where nothing was sent; the revenue of a priced `notices` row without a unique notice in the range is 0; a
notice's call is that of its first delivery, while any delivery proves a stage; a winner is joined at the event
that told it; a call with no retry but cancelled ones is `not_retried`; `revenue_at_risk` counts win notices and
is None on postbacks; `ms_saved_per_day` sums the known latencies and is None without any; the expected breaker
meets attempts one by one, so that the one which opens it lies in the closed interval and the probe in the
half-open one; `retry_after` and `audit` know a 429 by its answer's instant, which is the request's where the
latency is unknown; a window lies at its start; an order that was accepted as a duplicate only was accepted
earlier; amounts without a currency differ from none.
"""

from collections.abc import Callable, Mapping

from . import audit, breakers, counts, flags, funnels, ledger, retries, throttles, windows
from .calls import Limits, Model
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
    "audit": audit.audit,
    "flags": flags.flags,
    "breakers": breakers.breakers,
    "rate_limits": counts.rate_limits,
    "windows": windows.windows,
    "retry_after": throttles.retry_after,
    "orders": ledger.orders,
    "order_faults": ledger.order_faults,
    "signatures": ledger.signatures,
    "notices": counts.notices,
    "latency": counts.latency,
}


def read(facts: Facts, breakers: Mapping[str | None, Limits] | None = None) -> Model:
    """The facts, joined; `breakers` are settings by partner, those under None of every other one."""
    return Model(facts, breakers)


def table(
    name: str, data: Facts | Model, frm: int | None = None, to: int | None = None, partners: list[str] | None = None
) -> list[Row]:
    """One result table; `frm` and `to` are epoch microseconds, half-open, and None leaves a filter out."""
    selection = Selection(frm, to, None if partners is None else tuple(partners))
    return TABLES[name](data if isinstance(data, Model) else Model(data), selection)


__all__ = ["TABLES", "Facts", "Limits", "Model", "load", "read", "table"]
