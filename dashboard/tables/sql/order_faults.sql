-- Orders that were counted wrongly or could be: one row per fault, tenant, event type and order. Reuses of
-- idempotency keys by requests without an order id make one row of their tenant and event type.
select
    fault,
    tenant,
    event_type,
    external_order_id,
    detail
from order_fault_rows
order by fault, call_us, tenant, event_type nulls first, external_order_id nulls first, detail
