-- 429s on postbacks of orders, with the next request of the same key and endpoint: one row per 429. The time to wait
-- runs from `answered`; the verdict is NULL where none was told.
select
    tenant,
    event_type,
    external_order_id,
    key,
    endpoint,
    make_timestamp(us) as ts,
    make_timestamp(ends_us) as answered,
    retry_after_s,
    make_timestamp(next_us) as next_request,
    (next_us - ends_us)::double / 1000000 as waited_s,
    verdict
from throttle_verdicts
where stream = 'postback'
order by us, key, endpoint nulls first, ends_us
