-- one row per hour, call_hour, stream, key, endpoint, open_until_us: sums of minute_waits
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(x_idiv(call_minute_us, 3600000000) * 3600000000 as bigint) as call_hour_us,
    cast(stream as varchar) as stream,
    cast(key as varchar) as key,
    cast(endpoint as varchar) as endpoint,
    cast(open_until_us as bigint) as open_until_us,
    cast(sum(limited) as bigint) as limited,
    cast(sum(told) as bigint) as told,
    cast(sum(early) as bigint) as early,
    cast(sum(on_time) as bigint) as on_time,
    cast(sum(late) as bigint) as late
from minute_waits
group by
    x_idiv(minute_us, 3600000000),
    x_idiv(call_minute_us, 3600000000),
    stream,
    key,
    endpoint,
    open_until_us
