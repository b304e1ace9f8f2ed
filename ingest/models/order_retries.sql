-- one row per postback retry up to the first acceptance: tenant, event_type, external_order_id, retry_no
select
    cast(order_posts.tenant as varchar) as tenant,
    cast(order_posts.event_type as varchar) as event_type,
    cast(order_posts.external_order_id as varchar) as external_order_id,
    cast(orders.partner as varchar) as partner,
    cast(order_posts.endpoint as varchar) as endpoint,
    cast(order_posts.trigger_outcome as varchar) as trigger,
    cast(order_posts.position - 1 as bigint) as retry_no,
    cast(order_posts.won as bigint) as success,
    cast(order_posts.r8 as bigint) as r8,
    cast(order_posts.r9 as bigint) as r9,
    cast(order_posts.r11 as bigint) as r11,
    cast(order_posts.told as bigint) as told,
    cast(order_posts.latency_ms as double) as latency_ms,
    cast(case when order_posts.waited_ms > 0 then order_posts.waited_ms else 0 end as double) as delay_ms,
    cast(order_posts.us as bigint) as us,
    cast(orders.call_us as bigint) as call_us,
    cast(orders.hour_us as bigint) as hour_us
from order_posts
inner join orders
    on order_posts.tenant is not distinct from orders.tenant
        and order_posts.event_type is not distinct from orders.event_type
        and order_posts.external_order_id = orders.external_order_id
where order_posts.retry = 1
