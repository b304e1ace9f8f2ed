-- auctions with a click, joined to a call, whose id came back on an accepted order
select distinct auction_id
from deliveries
where kind = 'click' and orphan = 0 and click_id in (from accepted_clicks)
