-- Postbacks of orders of one id, oldest first, each with how long its sender waited after the answer before it and how
-- long that answer told it to wait: one row per postback.
--: needs order
with ordered as (
    select
        *,
        coalesce(tenant, key_id) as order_tenant,
        x_us(ts) as us,
        lag(x_us(ts) + coalesce(latency_ms, 0) * 1000) over lane as answered_us,
        lag(retry_after_s) over lane as told_s
    from postback_rows
    window lane as (
        partition by coalesce(tenant, key_id), event_type
        order by ts, outcome = 'accepted', key_id, endpoint, event_id, http_status, conversion_id, signature_hash
    )
)

select
    ts,
    order_tenant as tenant,
    event_type,
    external_order_id,
    key_id,
    outcome,
    http_status,
    error_code,
    case when answered_us is not null then greatest(us - answered_us, 0)::double / 1000000 end as pause_s,
    told_s,
    retry_after_s,
    conversion_id,
    duplicate,
    amount,
    currency,
    idempotency_key,
    idempotent_replay,
    body_hash,
    signature_hash,
    endpoint,
    latency_ms
from ordered
order by ts, order_tenant, event_type nulls first, outcome = 'accepted', key_id, endpoint, event_id
