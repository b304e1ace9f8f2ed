"""Parts of statements whose text depends on the filters: what was asked, the rows of the range, the flags' window."""

from __future__ import annotations

from collections.abc import Callable

from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.context import DAY, Context, texts
from dashboard.tables.ranges import CUBES, HOUR, cube_sql, hull, split, within


def _number(value: int | None) -> str:
    return "null::bigint" if value is None else f"{value}::bigint"


def _asked(context: Context) -> str:
    lo, hi = context.span
    everyone = str(not context.filters.partners).lower()
    return f"select {_number(lo)} as frm_us, {_number(hi)} as to_us, {everyone} as all_partners"


def _asked_partners(context: Context) -> str:
    listed = ", ".join(f"({texts((partner,))})" for partner in context.filters.partners)
    return f"select * from (values {listed}) as listed (partner)" if listed else "select '' as partner where false"


def _breaker_counts(context: Context) -> str:
    """Attempts within the range by the state that their node had entered last, at `from_us`."""
    cut = split(context.span)
    pieces = context.source("breaker_pieces", hull(cut.hours))
    text = f"select * exclude (hour_us)\nfrom {pieces}\nwhere {within('hour_us', cut.hours)}"
    rest = cut.minutes + cut.rest
    if not rest:
        return text
    attempts = context.source("main.attempts", hull(rest))
    return (
        f"{text}\nunion all by name\n"
        "select\n    partner,\n    node,\n    x_us(ts) as from_us,\n"
        "    (grp <> 'not_sent')::bigint as attempts,\n    (grp = 'failure')::bigint as failures,\n"
        "    (outcome = 'not_sent_breaker')::bigint as blocked,\n    (grp = 'answered')::bigint as answered,\n"
        "    (grp = 'cancelled')::bigint as cancelled\n"
        f"from {attempts}\ninner join outcomes using (outcome)\nwhere {within('ts', rest)}"
    )


def _asked_loads(context: Context) -> str:
    return f"select load_id from loads where {within('x_us(started)', (context.span,))}"


def _attempt_rows(context: Context) -> str:
    filters = context.filters
    conditions = [within("ts", (context.span,)), context.partners("partner")]
    if filters.auction is not None:
        conditions.append(f"auction_id = {texts((filters.auction,))}")
    return _rows("attempts", context, conditions)


def _postback_rows(context: Context) -> str:
    filters = context.filters
    conditions = [within("ts", (context.span,)), context.partners("key_id")]
    if filters.key is not None:
        conditions.append(f"key_id = {texts((filters.key,))}")
    if filters.order is not None:
        conditions.append(f"external_order_id = {texts((filters.order,))}")
    return _rows("postbacks", context, conditions)


def _retry_rows(context: Context) -> str:
    conditions = [within("call_us", (context.span,)), context.partners("partner")]
    return "\nunion all\n".join(
        f"select '{stream}' as stream, success, latency_ms from (\n{_rows(relation, context, conditions)}\n)"
        for stream, relation in (("exchange", "retries"), ("postback", "order_retries"))
    )


def _audit_call_rows(context: Context) -> str:
    return _rows("calls", context, [within("call_us", (context.span,)), context.partners("partner")])


def _audit_auction_rows(context: Context) -> str:
    return _rows("repeats", context, [within("us", (context.span,))])


def _audit_limited(context: Context) -> str:
    # a 429 may come long after the first postback of its order, but never before
    source = context.source("throttles", (context.span[0], None))
    conditions = ("retry_after_s is not null", within("call_us", (context.span,)), context.partners("key"))
    return f"select *\nfrom {source}\nwhere " + "\nand ".join(conditions)


def _audit_attempts(context: Context) -> str:
    """The attempts of one auction with the verdicts of the rules, judged by the models themselves."""
    call_span_us = round(float(context.snapshot.settings["call_span_s"]) * 1_000_000)
    chosen = f"auction_id = {texts((context.filters.auction or '',))}"
    models = context.snapshot.models
    return (
        "with settings as (\n"
        f"    select {call_span_us} as call_span_us, value::double as reserve_ms\n"
        "    from settings_in_force\n    where name = 'reserve_ms'\n),\n"
        "outcomes as (\n    select outcome, grp, rank as rnk from outcomes\n),\n"
        "call_starts as (\n    select auction_id, partner, call_us, 0 as alone\n"
        f"    from calls\n    where {chosen}\n),\n"
        "attempts as (\n    select * from main.attempts semi join call_starts using (auction_id, partner)\n),\n"
        "auctions as (\n    select * from main.auctions semi join call_starts using (auction_id)\n),\n"
        + "".join(f"{name} as (\n{models[name].strip()}\n),\n" for name in ("breaker_hours", "auction_heads"))
        + f"judged as (\n{models['call_attempts'].strip()}\n)\n"
        "select * from judged"
    )


def _rows(relation: str, context: Context, conditions: list[str]) -> str:
    source = context.source(relation, hull((context.span,)))
    return f"select *\nfrom {source}\nwhere " + "\nand ".join(conditions)


def _depths(context: Context) -> str:
    calls = (
        "select /*at*/ 'call' as funnel, stage as depth, reason, calls as n\nfrom range_calls where stream = 'exchange'"
    )
    if context.bucket_us is not None:
        return context.at(calls)
    if context.filters.partners:
        auctions = "select stage, 1 as auctions from kept_auctions"
        converted = "select 1 as auctions from kept_converted"
    else:
        auctions = "select stage, auctions from range_auctions"
        converted = "select auctions from range_converted"
    return (
        "-- how deep each call, auction and postback of the range got, and why no further\n"
        f"{context.at(calls)}\nunion all\n"
        f"select 'auction', stage, null, auctions from ({auctions})\nunion all\n"
        "-- a converted auction is a clicked one that got one stage further\n"
        "select 'auction', moved.depth, null, moved.step * auctions\n"
        f"from ({converted}), (values (5, -1), (6, 1)) as moved (depth, step)\nunion all\n"
        "select 'postback', stage, reason, postbacks from range_postbacks"
    )


def _kept_auctions(context: Context) -> str:
    return _auctions("auction_stages", "stage", context)


def _kept_converted(context: Context) -> str:
    return _auctions("converted", "auction_id", context)


def _auctions(relation: str, column: str, context: Context) -> str:
    """Auctions of the range that had a call to an asked partner."""
    conditions = [
        within("us", (context.span,)),
        f"auction_id in (select auction_id from calls where {context.partners('partner')})",
    ]
    source = context.source(relation, hull((context.span,)))
    return f"select {column}\nfrom {source}\nwhere " + "\nand ".join(conditions)


def _settings_in_force(context: Context) -> str:
    listed = ", ".join(f"({texts((name,))}, {texts((value,))})" for name, value in context.snapshot.settings.items())
    return f"select * from (values {listed}) as listed (name, value)"


def _moments(context: Context) -> str:
    return "select 0 as one" if context.bucket_us is None else 'select distinct "at" from depths'


def _shown_funnels(context: Context) -> str:
    if context.bucket_us is not None:
        return "select 'call' as funnel"
    return "select * from (values ('call'), ('auction'), ('postback')) as listed (funnel)"


def flag_window(snapshot: Snapshot, filters: Filters, stream: str) -> tuple[int, int]:
    """[from, to) of a stream's flags in epoch microseconds: the days up to `--to`, else up to its newest event."""
    days = int(float(snapshot.settings["flag_days"])) * DAY
    end = filters.to_us if filters.to_us is not None else (snapshot.span(stream).newest_us or 0) + 1
    start = end - days
    return (start if filters.frm_us is None else max(start, filters.frm_us)), end


def _flag_retries(context: Context) -> str:
    windows = {flag_window(context.snapshot, context.filters, stream) for stream in ("exchange", "postback")}
    if len(windows) == 1:
        return context.cube("retries", windows.pop())
    return "\nunion all by name\n".join(
        f"select * from (\n{context.cube('retries', flag_window(context.snapshot, context.filters, stream))}\n)\n"
        f"where stream = '{stream}'"
        for stream in ("exchange", "postback")
    )


def _flag_rescues(context: Context) -> str:
    return context.cube("rescues", flag_window(context.snapshot, context.filters, "exchange"))


def _flag_spans(context: Context) -> str:
    firsts = {"exchange": _first_attempt, "postback": _first_postback}
    pieces = []
    for stream, first in firsts.items():
        lo, hi = flag_window(context.snapshot, context.filters, stream)
        end = hi if context.filters.to_us is not None else hi - 1
        pieces.append(
            f"select '{stream}' as stream, greatest(({end} - min(us)) / {DAY}::double, 1) as days\n"
            f"from (\n{first(context, lo, hi)}\n)"
        )
    return "-- days from a stream's first event in its window to the window's end\n" + "\nunion all\n".join(pieces)


def _first_attempt(context: Context, lo: int, hi: int) -> str:
    edge = (lo, min(-(-lo // HOUR) * HOUR, hi))
    nodes = context.source("hour_nodes", hull(((lo, hi),)))
    text = f"select first_us as us from {nodes} where {within('first_us', ((lo, hi),))}"
    if edge[0] >= edge[1]:
        return text
    attempts = context.source("attempts", hull((edge,)))
    return f"{text}\nunion all\nselect x_us(ts) as us from {attempts} where {within('ts', (edge,))}"


def _first_postback(context: Context, lo: int, hi: int) -> str:
    cube = CUBES["postbacks"]
    counted = cube_sql(cube, (lo, hi), context.snapshot.models[cube.model], context.source)
    return f"select min(first_us) as us from (\n{counted}\n)"


def _range(name: str) -> Callable[[Context], str]:
    return lambda context: context.cube(name, context.span)


MADE: dict[str, Callable[[Context], str]] = {
    "asked": _asked,
    "asked_loads": _asked_loads,
    "asked_partners": _asked_partners,
    "attempt_rows": _attempt_rows,
    "audit_attempts": _audit_attempts,
    "audit_auction_rows": _audit_auction_rows,
    "audit_call_rows": _audit_call_rows,
    "audit_limited": _audit_limited,
    "breaker_counts": _breaker_counts,
    "depths": _depths,
    "flag_rescues": _flag_rescues,
    "flag_retries": _flag_retries,
    "flag_spans": _flag_spans,
    "kept_auctions": _kept_auctions,
    "kept_converted": _kept_converted,
    "moments": _moments,
    "postback_rows": _postback_rows,
    "retry_rows": _retry_rows,
    "settings_in_force": _settings_in_force,
    "shown_funnels": _shown_funnels,
    **{f"range_{name}": _range(name) for name in CUBES},
}
