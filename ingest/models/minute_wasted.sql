-- one row per minute, stream, key, endpoint: requests sent before a Retry-After had run out
select
    cast(x_idiv(us, 60000000) * 60000000 as bigint) as minute_us,
    cast(stream as varchar) as stream,
    cast(key as varchar) as key,
    cast(endpoint as varchar) as endpoint,
    cast(count(*) as bigint) as wasted
from wasted_requests
group by x_idiv(us, 60000000), stream, key, endpoint
