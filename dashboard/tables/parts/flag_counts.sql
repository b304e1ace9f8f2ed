-- retries in the flags' window by partner and trigger, with roll-ups over either and both
with counted as (
    select
        stream,
        partner,
        trigger,
        sum(retries) as retries,
        sum(successes) as successes,
        sum(bids) as bids,
        sum(latency_ms) as latency_ms,
        max(last_success_us) as last_success_us
    from flag_retries
    group by all
),

told as (
    select
        counted.*,
        blind.partner is not null as blind
    from counted
    left join blind_partners as blind on counted.partner = blind.partner
)

select
    stream,
    partner,
    trigger,
    grouping(partner) = 1 as all_of_partners,
    grouping(trigger) = 1 as all_of_triggers,
    sum(retries)::bigint as retries,
    sum(successes)::bigint as successes,
    sum(bids)::bigint as bids,
    bool_or(blind) as blind,
    sum(latency_ms)::double as latency_ms,
    max(last_success_us) as last_success_us
from told
group by grouping sets ((stream, partner, trigger), (stream, partner), (stream, trigger), (stream))
having sum(retries) > 0
