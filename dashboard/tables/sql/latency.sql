-- Latency of sent attempts: one row per partner. Quantiles are nearest rank over buckets that grow by 5 %.
with counted as (
    select
        partner,
        bucket,
        sum(attempts)::bigint as n
    from range_latency
    group by all
    having sum(attempts) > 0
),

ranked as (
    select
        *,
        sum(n) over (partition by partner order by bucket) as up_to,
        sum(n) over (partition by partner) as total
    from counted
)

select
    partner,
    max(total)::bigint as attempts,
    x_latency_ms(min(bucket) filter (up_to * 100 >= total * 50)) as p50_ms,
    x_latency_ms(min(bucket) filter (up_to * 100 >= total * 95)) as p95_ms,
    x_latency_ms(min(bucket) filter (up_to * 100 >= total * 99)) as p99_ms,
    0.025::double as error_bound
from ranked
group by all
order by partner
