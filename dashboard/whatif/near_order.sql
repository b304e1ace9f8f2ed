order by
    code, us, attempt asc nulls last, request_id asc nulls last, rank asc nulls first,
    picked.tmax_ms asc nulls last, budget_ms asc nulls last, timeout_ms asc nulls last,
    elapsed_ms asc nulls last, latency_ms asc nulls last, http_status asc nulls last,
    error_type asc nulls last, nbr asc nulls last, bids asc nulls last, price asc nulls last,
    currency asc nulls last, reject_reason asc nulls last, breaker asc nulls last,
    not_sent asc nulls last, retry_after_s asc nulls last, backoff_ms asc nulls last,
    source asc nulls last, placement asc nulls last, region asc nulls last,
    node asc nulls last, picked.outcome, reason asc nulls last, picked.auction_id
