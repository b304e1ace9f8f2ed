-- one row per hour, partner, latency bucket (sent attempts that have a latency)
select
    cast(x_idiv(x_us(attempts.ts), 3600000000) * 3600000000 as bigint) as hour_us,
    cast(attempts.partner as varchar) as partner,
    cast(x_latency_bucket(attempts.latency_ms) as bigint) as bucket,
    cast(count(*) as bigint) as attempts
from attempts
inner join outcomes on attempts.outcome = outcomes.outcome
where attempts.latency_ms is not null and outcomes.grp <> 'not_sent'
group by
    x_idiv(x_us(attempts.ts), 3600000000),
    attempts.partner,
    x_latency_bucket(attempts.latency_ms)
