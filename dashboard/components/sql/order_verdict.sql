-- What became of orders, judged on all data: one row per tenant (the key where unknown), event type and order.
select
    tenant,
    event_type,
    external_order_id,
    partner as key,
    make_timestamp(call_us) as first_request,
    requests,
    state,
    case when state in ('accepted_first', 'accepted_after_retry') then attempts_sent - 1 end as retries_to_accept,
    case when state in ('accepted_first', 'accepted_after_retry') then (accepted_us - call_us)::double / 1000000 end
        as seconds_to_accept,
    coalesce(conversion_ids, []) as conversion_ids,
    case when untold = 0 then duplicates end as duplicates
from order_verdicts
order by call_us, tenant nulls first, event_type nulls first, external_order_id
