-- Single postbacks, newest first.
--: needs key order
--: limit 500
--: file postbacks
select
    ts,
    outcome,
    http_status,
    error_code,
    tenant,
    event_type,
    external_order_id,
    accepted,
    duplicate,
    conversion_id,
    amount,
    currency,
    endpoint,
    retry_after_s,
    "limit",
    window_s,
    latency_ms
from postback_rows
order by ts desc, external_order_id, event_id
