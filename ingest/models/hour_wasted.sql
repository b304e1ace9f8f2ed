-- one row per hour, stream, key, endpoint: sums of minute_wasted
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(stream as varchar) as stream,
    cast(key as varchar) as key,
    cast(endpoint as varchar) as endpoint,
    cast(sum(wasted) as bigint) as wasted
from minute_wasted
group by x_idiv(minute_us, 3600000000), stream, key, endpoint
