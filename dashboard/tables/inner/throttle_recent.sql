-- The newest 429s of each stream, key and endpoint with what came of their Retry-After: one row per 429.
with newest as (
    select *
    from throttle_verdicts
    qualify row_number() over (
        partition by stream, key, endpoint
        order by us desc, ends_us, auction_id, tenant, event_type, external_order_id
    ) <= 500
)

select
    stream,
    key,
    endpoint,
    make_timestamp(us) as ts,
    retry_after_s,
    verdict,
    make_timestamp(next_us) as next_request,
    (next_us - ends_us)::double / 1000000 as waited_s,
    auction_id,
    tenant,
    event_type,
    external_order_id
from newest
order by us desc, stream, key, endpoint nulls first, auction_id, tenant, event_type, external_order_id, ends_us
