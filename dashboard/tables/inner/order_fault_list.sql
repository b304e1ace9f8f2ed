-- Orders that were counted wrongly or could be, newest first: one row per fault and order, with when and whose it is.
select
    fault,
    tenant,
    event_type,
    external_order_id,
    detail,
    partner as key,
    make_timestamp(call_us) as first_request
from order_fault_rows
order by order_fault_rows.call_us desc, fault, tenant, event_type nulls first, external_order_id nulls first, detail
