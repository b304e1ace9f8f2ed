-- What became of calls whose original failed: one row per stream, partner and fate. It is unknown of calls of which the
-- log does not show the original.
--: series
with counted as (
    select
        /*at*/
        stream,
        partner,
        fate,
        sum(calls)::bigint as calls
    from range_calls
    where fate is not null
    group by all
)

select
    /*at*/
    stream,
    partner,
    fate,
    calls
from counted
order by
    /*at*/
    stream,
    partner,
    list_position(['not_retried', 'exhausted', 'stopped', 'no_time', 'unknown'], fate) nulls first,
    length(fate),
    fate
