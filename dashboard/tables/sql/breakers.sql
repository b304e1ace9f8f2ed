-- Breaker states as reported: one row per partner, node and interval. Intervals that touch the range are kept whole.
select
    partner,
    node,
    'reported' as kind,
    state,
    make_timestamp(from_us) as "from",
    make_timestamp(to_us) as "to",
    attempts,
    failures,
    blocked
from breaker_spans
order by partner, node nulls first, place
