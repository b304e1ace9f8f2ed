-- Breaker states: one row per partner, node, kind and interval. Reported is what the logs tell of each node, expected
-- what the reference breaker would have done with the partner's attempts on all nodes together: there `blocked` were
-- sent all the same. Intervals that touch the range are kept whole.
with intervals as (
    select partner, node, 'reported' as kind, state, from_us, to_us, attempts, failures, blocked, place
    from breaker_spans
    union all
    select partner, null as node, 'expected' as kind, state, from_us, to_us, attempts, failures, blocked, place
    from breaker_expected
    cross join (select frm_us, to_us as ends_us from asked)
    where
        (ends_us is null or from_us < ends_us)
        and (frm_us is null or to_us is null or to_us > frm_us or from_us >= frm_us)
)

select
    partner,
    node,
    kind,
    state,
    make_timestamp(from_us) as "from",
    make_timestamp(to_us) as "to",
    attempts,
    failures,
    blocked
from intervals
order by partner, kind desc, node nulls first, place
