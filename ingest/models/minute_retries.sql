-- one row per minute, stream, partner, trigger, retry_no, region (a retry lies at its call's first attempt)
with units as (
    select
        call_us,
        'exchange' as stream,
        partner, trigger, retry_no, region, success, bid, latency_ms, us
    from retries
    union all
    select
        call_us,
        'postback' as stream,
        partner, trigger, retry_no, cast(null as varchar) as region, success, cast(null as bigint) as bid,
        latency_ms, us
    from order_retries
)

select
    cast(x_idiv(call_us, 60000000) * 60000000 as bigint) as minute_us,
    cast(stream as varchar) as stream,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(region as varchar) as region,
    cast(retry_no as bigint) as retry_no,
    cast(count(*) as bigint) as retries,
    cast(sum(success) as bigint) as successes,
    cast(sum(bid) as bigint) as bids,
    cast(sum(cast(latency_ms as decimal(18, 3))) as decimal(38, 3)) as latency_ms,
    cast(max(case when success = 1 then us end) as bigint) as last_success_us
from units
group by x_idiv(call_us, 60000000), stream, partner, trigger, retry_no, region
