-- Single attempts, oldest first.
--: needs partner auction
--: limit 1000
select
    ts,
    auction_id,
    partner,
    attempt,
    request_id,
    tmax_ms,
    budget_ms,
    timeout_ms,
    elapsed_ms,
    latency_ms,
    http_status,
    error_type,
    nbr,
    bids,
    price,
    currency,
    reject_reason,
    breaker,
    not_sent,
    retry_after_s,
    backoff_ms,
    source,
    placement,
    region,
    node,
    outcome
from attempt_rows
order by all
