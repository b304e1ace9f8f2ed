-- one row per order with a fault of its postbacks: tenant, event_type, external_order_id
select
    cast(tenant as varchar) as tenant,
    cast(event_type as varchar) as event_type,
    cast(external_order_id as varchar) as external_order_id,
    cast(partner as varchar) as partner,
    cast(double_count as varchar) as double_count,
    cast(reused_id as varchar) as reused_id,
    cast(unmarked_duplicate as varchar) as unmarked_duplicate,
    cast(call_us as bigint) as call_us,
    cast(hour_us as bigint) as hour_us
from orders
where double_count is not null or reused_id is not null or unmarked_duplicate is not null
