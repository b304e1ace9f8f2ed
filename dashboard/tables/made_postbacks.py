"""Parts about postbacks and refusals whose text depends on the filters: the orders, 429s and windows of the range."""

from __future__ import annotations

from collections.abc import Callable

from dashboard.snapshot import Snapshot
from dashboard.tables.context import Context
from dashboard.tables.ranges import hull, split, within

SECOND = 1_000_000

LAST_US = 4_133_980_800_000_000
"""2101-01-01: no event lies later."""


def _orders(context: Context) -> str:
    return _of_span(context, "orders", "call_us", "partner")


def _faulty_orders(context: Context) -> str:
    return _of_span(context, "faulty_orders", "call_us", "partner")


def _throttles(context: Context) -> str:
    return _of_span(context, "throttles", "us", "key")


def _asks(context: Context) -> str:
    """Counts of the 429s whose call or order began within the range: they come after that, however long."""
    cut, since = split(context.span), (context.span[0], None)
    pieces = [
        f"select * exclude ({unit}_us, call_{unit}_us)\nfrom {context.source(f'{unit}_waits', since)}\n"
        f"where {within(f'call_{unit}_us', spans)}"
        for unit, spans in (("hour", cut.hours), ("minute", cut.minutes))
        if spans or (unit == "hour" and not (cut.minutes or cut.rest))
    ]
    if cut.rest:
        throttles = f"select * from {context.source('main.throttles', since)} where {within('call_us', cut.rest)}"
        pieces.append(
            "select * exclude (minute_us, call_minute_us)\n"
            f"from (\nwith throttles as (\n    {throttles}\n)\nselect * from (\n"
            f"{context.snapshot.models['minute_waits'].strip()}\n)\n)"
        )
    asks = "\nunion all by name\n".join(pieces)
    return f"select * from (\n{asks}\n)\nwhere {context.partners('key')}"


def _replays(context: Context) -> str:
    return _of_span(context, "replays", "us", "key_id")


def _lone_reuses(context: Context) -> str:
    """Reuses by a request that belongs to no order: these lie at their own time."""
    return _of_span(context, "key_reuses", "us", "key_id", "external_order_id is null")


def _later_postbacks(context: Context) -> str:
    """Postbacks from the range on: those of its orders, however late."""
    span = (context.span[0], None)
    conditions = (within("ts", (span,)), "external_order_id is not null")
    return f"select *\nfrom {context.source('postbacks', hull((span,)))}\nwhere " + "\nand ".join(conditions)


def _of_span(context: Context, relation: str, column: str, partner: str, *more: str) -> str:
    conditions = [within(column, (context.span,)), context.partners(partner), *more]
    source = context.source(relation, hull((context.span,)))
    return f"select *\nfrom {source}\nwhere " + "\nand ".join(conditions)


def _window_requests(context: Context) -> str:
    """Counts of all requests that may lie in a window that begins within the range, whosever they are."""
    lo, hi = context.span
    until = None if hi is None else min(hi + _widest(context.snapshot) * SECOND, LAST_US)
    source = context.source("window_pieces", hull(((lo, until),)))
    mine = f"{context.partners('key_id')} as mine"
    return f"select *, {mine}\nfrom {source}\nwhere {within('window_us', ((lo, until),))}"


def _window_widths(context: Context) -> str:
    """The largest window that any request of a key and endpoint ever named; asked for only where one names none."""
    return (
        "select key, endpoint, max(own_length) as window_s\nfrom window_pieces\n"
        "where own_length is not null and exists (from window_requests where own_length is null)\ngroup by all"
    )


def _widest(snapshot: Snapshot) -> int:
    """Seconds of the longest window of the data; 60 where a shorter one or none is logged."""
    [(logged,)] = snapshot.query("select max(own_length) from window_pieces where own_length > 60")
    return 60 if logged is None else int(logged)


def _kept_facts(context: Context) -> str:
    """Whether the single events of all of the range are kept."""
    return f"select {'true' if context.gone_before is None else 'false'} as whole"


def _kept_windows(context: Context) -> str:
    """The windows that begin within the range, with any request of the asked keys; none of days that are not kept."""
    at = ""
    if context.bucket_us is not None:
        size = context.bucket_us
        at = f'make_timestamp(x_idiv(window_us, {size}) * {size}) as "at", '
    lo, hi = context.span
    span = (lo if context.gone_before is None else context.gone_before, hi)
    return f"select {at}*\nfrom window_counts\nwhere {within('window_us', (span,))}\nand mine"


MADE_POSTBACKS: dict[str, Callable[[Context], str]] = {
    "faulty_rows": _faulty_orders,
    "kept_facts": _kept_facts,
    "kept_windows": _kept_windows,
    "later_postbacks": _later_postbacks,
    "lone_reuses": _lone_reuses,
    "order_rows": _orders,
    "range_asks": _asks,
    "replay_rows": _replays,
    "throttle_rows": _throttles,
    "window_requests": _window_requests,
    "window_widths": _window_widths,
}
