-- Openings of breakers that touch the range, as the logs tell them: one row per partner, node and interval.
select
    partner,
    node,
    make_timestamp(from_us) as "from",
    make_timestamp(to_us) as "to"
from breaker_intervals
cross join (select frm_us, to_us as ends_us from asked)
where
    state = 'open'
    and (ends_us is null or from_us < ends_us)
    and (frm_us is null or to_us is null or to_us > frm_us or from_us >= frm_us)
order by from_us, partner, node nulls first
