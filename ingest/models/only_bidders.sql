-- one row per auction in which exactly one partner bid: auction_id
select
    cast(auction_id as varchar) as auction_id,
    cast(max(partner) as varchar) as partner
from attempts
where outcome = 'bid'
group by auction_id
having min(partner) = max(partner)
