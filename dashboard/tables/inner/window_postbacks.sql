-- Postbacks of the range with whom their limit is for, oldest first: one row per postback.
select
    ts,
    case
        when
            client_hash is not null
            and (contains(endpoint, 'exchange') or contains(endpoint, '/r/') or contains(endpoint, '/p/'))
            then client_hash
        else key_id
    end as key,
    key_id,
    endpoint,
    outcome,
    http_status,
    error_code,
    tenant,
    event_type,
    external_order_id,
    conversion_id,
    duplicate,
    idempotency_key,
    idempotent_replay,
    body_hash,
    amount,
    currency,
    retry_after_s,
    "limit",
    window_s,
    latency_ms
from postback_rows
order by all
