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
        *,
        case stream
            when 'exchange' then partner in (select partner from hiding)
            else outcome = 'answered_unknown'
        end as untold
    from request_answers
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
