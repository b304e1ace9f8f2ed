-- Time in each reported breaker state within the range: one row per partner, node and state. A state without an end
-- lasts to the end of the range, at most to the stream's newest event.
with ends as (
    select
        partner,
        node,
        state,
        from_us >= here_from_us as began_here,
        here_from_us,
        least(coalesce(here_to_us, newest_us), newest_us) as here_to_us,
        attempts_here,
        failures_here,
        blocked_here
    from breaker_spans_here
    cross join (select newest_us from streams where stream = 'exchange')
)

select
    partner,
    node,
    state,
    count(*) filter (began_here)::bigint as entered,
    sum(greatest(here_to_us - here_from_us, 0))::double / 1000000 as seconds,
    sum(attempts_here)::bigint as attempts,
    sum(failures_here)::bigint as failures,
    sum(blocked_here)::bigint as blocked
from ends
group by all
order by partner, node nulls first, state
