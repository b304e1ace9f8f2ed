-- Single postbacks, oldest first.
--: needs key order
--: limit 1000
select
    ts,
    tenant,
    key_id,
    endpoint,
    method,
    event_type,
    external_order_id,
    http_status,
    accepted,
    error_code,
    retry_after_s,
    "limit",
    window_s,
    conversion_id,
    duplicate,
    idempotency_key,
    idempotent_replay,
    body_hash,
    signature_hash,
    x_timestamp,
    latency_ms,
    amount,
    currency,
    click_id,
    client_hash
from postback_rows
order by all
