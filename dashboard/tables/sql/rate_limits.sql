-- How often requests were answered 429: one row per stream, partner (the key of postbacks) and endpoint. Where the log
-- tells no status of some of them, that is unknown.
--: series
with answers as (
    select
        /*at*/
        'exchange' as stream,
        partner,
        null::varchar as endpoint,
        outcome,
        attempts as n
    from range_attempts
    where outcome not in (select outcome from outcomes where grp = 'not_sent')
    union all
    select
        /*at*/
        'postback' as stream,
        key_id as partner,
        endpoint,
        outcome,
        postbacks as n
    from range_postbacks
)

select
    /*at*/
    stream,
    partner,
    endpoint,
    sum(n)::bigint as requests,
    case
        when coalesce(sum(n) filter (stream = 'postback' and outcome = 'answered_unknown'), 0) = 0
            then coalesce(sum(n) filter (outcome = 'rate_limited'), 0)
    end::bigint as limited,
    limited::double / requests::double as rate
from answers
group by all
having sum(n) > 0
order by /*at*/ stream, partner, endpoint nulls first
