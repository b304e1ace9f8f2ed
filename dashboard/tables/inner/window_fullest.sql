-- The fullest windows of the range, most used first: one row per key, endpoint and window that has a limit.
--: limit 200
select
    key,
    endpoint,
    make_timestamp(window_us) as window_start,
    window_s,
    requests,
    limited,
    allowed as "limit",
    logged_limit is not null as limit_logged,
    requests::double / allowed::double as utilisation
from kept_windows
where allowed > 0
order by utilisation desc, requests desc, window_us, key, endpoint nulls first, window_s
