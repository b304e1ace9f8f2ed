-- Single attempts, newest first.
--: needs partner auction
--: limit 500
--: file attempts
select
    ts,
    auction_id,
    attempt,
    attempt_count,
    outcome,
    reason,
    http_status,
    error_type,
    latency_ms,
    elapsed_ms,
    timeout_ms,
    budget_ms,
    price,
    currency,
    reject_reason,
    breaker,
    not_sent,
    retry_after_s,
    backoff_ms,
    region,
    node,
    source,
    placement
from attempt_rows
order by ts desc, auction_id, attempt desc nulls last, request_id
