-- orders of which a request used an idempotency key again with another body, and which keys
select
    tenant,
    event_type,
    external_order_id,
    count(distinct idempotency_key) as keys,
    min(idempotency_key) as low_key,
    max(idempotency_key) as high_key
from key_reuses
where external_order_id is not null
group by all
