-- one row per auction that was clicked and click_id of its clicks that belong to a call: auction_id, click_id
select
    cast(auction_stages.auction_id as varchar) as auction_id,
    cast(deliveries.click_id as varchar) as click_id,
    cast(auction_stages.us as bigint) as us,
    cast(auction_stages.hour_us as bigint) as hour_us
from deliveries
inner join auction_stages on deliveries.auction_id = auction_stages.auction_id
where
    deliveries.kind = 'click'
    and deliveries.orphan = 0
    and deliveries.click_id is not null
    and auction_stages.stage = 5
group by auction_stages.auction_id, deliveries.click_id, auction_stages.us, auction_stages.hour_us
