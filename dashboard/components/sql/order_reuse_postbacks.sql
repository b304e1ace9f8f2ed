-- Postbacks that share an idempotency key which a request without an order used again with another body: one row per
-- postback. Tenant and event type are those of that request.
select
    posts.ts,
    reuses.tenant,
    reuses.event_type,
    posts.external_order_id,
    posts.key_id,
    posts.idempotency_key,
    posts.body_hash,
    posts.idempotent_replay,
    posts.outcome,
    posts.http_status,
    posts.error_code,
    posts.conversion_id,
    posts.duplicate,
    posts.amount,
    posts.currency,
    posts.endpoint,
    posts.latency_ms
from postbacks as posts
inner join key_reuses as reuses
    on posts.key_id is not distinct from reuses.key_id and posts.idempotency_key = reuses.idempotency_key
where reuses.external_order_id is null
order by posts.key_id, posts.idempotency_key, posts.ts, posts.body_hash, posts.outcome
