-- one row per accepted order and click_id of its postbacks: tenant, event_type, external_order_id, click_id
select
    cast(orders.tenant as varchar) as tenant,
    cast(orders.event_type as varchar) as event_type,
    cast(orders.external_order_id as varchar) as external_order_id,
    cast(postbacks.click_id as varchar) as click_id,
    cast(orders.call_us as bigint) as call_us,
    cast(orders.hour_us as bigint) as hour_us
from postbacks
inner join orders
    on coalesce(postbacks.tenant, postbacks.key_id) is not distinct from orders.tenant
        and postbacks.event_type is not distinct from orders.event_type
        and postbacks.external_order_id = orders.external_order_id
where orders.accepted = 1 and postbacks.click_id is not null
group by
    orders.tenant, orders.event_type, orders.external_order_id, postbacks.click_id, orders.call_us, orders.hour_us
