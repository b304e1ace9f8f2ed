-- Requests by fixed window, refused ones included: one row per key, endpoint and window. A window is kept whole where
-- it begins within the range; its limit is the largest logged in it, else the usual one of the endpoint.
--: series
select
    /*at*/
    key,
    endpoint,
    make_timestamp(window_us) as window_start,
    window_s,
    requests,
    limited,
    allowed as "limit",
    requests::double / nullif(allowed, 0)::double as utilisation
from kept_windows
order by /*at*/ key, endpoint nulls first, window_us, window_s
