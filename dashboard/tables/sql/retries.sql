-- Retry success by what was retried and how often: one row per stream, partner, trigger and retry number.
-- The interval is Wilson's, two-sided 95 %.
--: series
with counted as (
    select
        /*at*/
        stream,
        partner,
        trigger,
        retry_no,
        sum(retries)::bigint as retries,
        sum(successes)::bigint as successes,
        sum(bids)::bigint as bids
    from range_retries
    group by all
    having sum(retries) > 0
),

normal as (
    select value::double as z
    from settings_in_force
    where name = 'interval_z'
),

rated as (
    select
        counted.*,
        successes::double / retries::double as rate,
        z * z / retries as zz,
        z * sqrt(rate * (1 - rate) / retries + zz / (4 * retries)) as spread
    from counted
    cross join normal
)

select
    /*at*/
    stream,
    partner,
    trigger,
    retry_no,
    retries,
    successes,
    case when stream = 'exchange' and partner not in (from blind_partners) then bids end as bids,
    rate as success_rate,
    greatest((rate + zz / 2 - spread) / (1 + zz), 0) as success_low,
    least((rate + zz / 2 + spread) / (1 + zz), 1) as success_high
from rated
order by /*at*/ stream, partner, trigger, retry_no
