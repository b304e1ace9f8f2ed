-- 429s with a Retry-After, and whether the next request of that key and endpoint kept to it: one row per 429.
select
    make_timestamp(us) as ts,
    stream,
    key as partner,
    endpoint,
    retry_after_s,
    make_timestamp(next_us) as next_request,
    (next_us - ends_us)::double / 1000000 as waited_s,
    verdict,
    auction_id,
    external_order_id
from audit_throttles
