-- One row an attempt of `typed_attempts`: the outcome by its first matching class, and the reason of a no-bid.
with
classed as (
    select
        *,
        error_class(error_type) as error_class,
        coalesce(http_status, case when answered then 200 end) as status
    from typed_attempts
),

told as (
    select *, case when status = 200 then body_kind end as answer
    from classed
),

decided as (
    select
        *,
        case
            when not_sent = 'breaker' then 'not_sent_breaker'
            when not_sent is not null then 'not_sent_limit'
            when breaker = 'open' and status is null and error_type is null and latency_ms is null
                then 'not_sent_breaker'
            when error_class = 'connect_error' then 'connect_error'
            when error_class = 'tls_error' then 'tls_error'
            when error_class = 'timeout' or (status is null and latency_ms >= timeout_ms) then 'timeout'
            when error_class = 'cancelled' then 'cancelled'
            when error_class = 'reset' then 'reset'
            when status = 429 then 'rate_limited'
            when status between 500 and 599 then 'server_error'
            when status between 400 and 499 then 'client_error'
            when status not in (200, 204) then 'unexpected_status'
            when status is null and error_class = 'invalid_response' then 'invalid_response'
            when status is null then 'unknown_error'
            when status = 204 then 'no_bid'
            when answer in ('invalid', 'broken') then 'invalid_response'
            when answer = 'bids' then 'bid'
            when answer = 'none' then 'no_bid'
            when error_class = 'invalid_response' then 'invalid_response'
            when bids > 0 or (bids is null and price >= 0) then 'bid'
            when nbr is not null or bids = 0 then 'no_bid'
            else 'answered_unknown'
        end as outcome,
        case when answer is null then nbr else body_nbr end as code
    from told
)

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
    mask_addresses(error_type) as error_type,
    try_cast(code as bigint) as nbr,
    case when answer is null then bids else body_bids end as bids,
    case when answer is null then price else body_price end as price,
    case
        when answer is null then currency
        when body_price is null then coalesce(body_currency, currency)
        else coalesce(body_currency, currency, 'USD')
    end as currency,
    reject_reason,
    breaker,
    not_sent,
    retry_after_s,
    backoff_ms,
    source,
    placement,
    region,
    node,
    attempt_count,
    last_only,
    outcome,
    case
        when outcome <> 'no_bid' then null
        when code is null and no_code and http_status is distinct from 204 then 'unknown'
        else coalesce(code, 'no_reason')
    end as reason,
    event_id,
    file_no,
    line_no
from decided
