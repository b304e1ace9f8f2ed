-- one row per auction of which a click came back on an accepted order: auction_id (it lies where the auction does)
select
    cast(auction_id as varchar) as auction_id,
    cast(max(us) as bigint) as us,
    cast(max(hour_us) as bigint) as hour_us
from auction_clicks
where click_id in (select click_id from order_clicks)
group by auction_id
