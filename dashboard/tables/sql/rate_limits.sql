-- How often requests were answered 429: one row per stream, partner (the key of postbacks) and endpoint. Where the log
-- tells no status of some of them, or hides earlier attempts of a partner's calls, that is unknown.
--: series
with hiding as (
    select distinct partner
    from range_calls
    where stream = 'exchange' and hidden > 0
),

answers as (
    select
        /*at*/
        'exchange' as stream,
        partner,
        null::varchar as endpoint,
        outcome,
        partner in (select partner from hiding) as untold,
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
        outcome = 'answered_unknown' as untold,
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
        when coalesce(sum(n) filter (untold), 0) = 0
            then coalesce(sum(n) filter (outcome = 'rate_limited'), 0)
    end::bigint as limited,
    limited::double / requests::double as rate
from answers
group by all
having sum(n) > 0
order by /*at*/ stream, partner, endpoint nulls first
