-- one row per hour, stream, partner, trigger, retry_no, region: the sums of minute_retries
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(stream as varchar) as stream,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(region as varchar) as region,
    cast(retry_no as bigint) as retry_no,
    cast(sum(retries) as bigint) as retries,
    cast(sum(successes) as bigint) as successes,
    cast(sum(bids) as bigint) as bids,
    cast(sum(latency_ms) as decimal(38, 3)) as latency_ms,
    cast(max(last_success_us) as bigint) as last_success_us
from minute_retries
group by x_idiv(minute_us, 3600000000), stream, partner, trigger, retry_no, region
