-- Bursts of 429: one row per run of minutes in a row of a partner, or of a key and endpoint, in each of which at least
-- `burst_min_requests` came and at least the share `burst_share` of them was answered 429. Read by minutes.
with minutes as (
    select
        /*at*/
        stream,
        partner,
        endpoint,
        sum(n)::bigint as requests,
        coalesce(sum(n) filter (outcome = 'rate_limited'), 0)::bigint as limited
    from request_answers
    group by all
),

bursting as (
    select
        *,
        row_number() over (partition by stream, partner, endpoint order by "at") as place
    from minutes
    where
        requests >= (select value::double from settings_in_force where name = 'burst_min_requests')
        and limited >= requests * (select value::double from settings_in_force where name = 'burst_share')
)

select
    stream,
    partner,
    endpoint,
    min("at") as "from",
    max("at") + interval 1 minute as "to",
    sum(requests)::bigint as requests,
    sum(limited)::bigint as limited
from bursting
group by stream, partner, endpoint, "at" - place * interval 1 minute
order by "from", stream, partner, endpoint nulls first
