-- What became of each order, oldest first: one row per tenant (the key where unknown), event type and order. An order
-- lies at its first postback. Behind a request whose answer is unknown so is the rest.
--: limit 1000
select
    orders.tenant,
    orders.event_type,
    orders.external_order_id,
    requests,
    state,
    case when state in ('accepted_first', 'accepted_after_retry') then attempts_sent - 1 end as retries_to_accept,
    case when state in ('accepted_first', 'accepted_after_retry') then (accepted_us - call_us)::double / 1000000 end
        as seconds_to_accept,
    coalesce(conversion_ids, []) as conversion_ids,
    case when untold = 0 then duplicates end as duplicates,
    list_filter(
        [
            case when double_count is not null then 'double_count' end,
            case when reuses.keys is not null then 'key_reuse' end,
            case when reused_id is not null then 'reused_id' end,
            case when unmarked_duplicate is not null then 'unmarked_duplicate' end
        ],
        lambda fault: fault is not null
    ) as faults
from order_verdicts as orders
left join order_reuses as reuses
    on orders.tenant is not distinct from reuses.tenant
        and orders.event_type is not distinct from reuses.event_type
        and orders.external_order_id = reuses.external_order_id
order by call_us, orders.tenant nulls first, orders.event_type nulls first, orders.external_order_id
