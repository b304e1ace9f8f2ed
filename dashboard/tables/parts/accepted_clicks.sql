-- click ids that stand on a postback of an accepted order
select distinct postbacks.click_id
from postbacks
inner join orders
    on orders.tenant is not distinct from coalesce(postbacks.tenant, postbacks.key_id)
        and coalesce(orders.event_type, '') = coalesce(postbacks.event_type, '')
        and orders.external_order_id = postbacks.external_order_id
where orders.accepted = 1 and postbacks.click_id is not null
