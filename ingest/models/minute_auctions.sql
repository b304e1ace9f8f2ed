-- one row per minute, stage (the deepest that the auction reached)
select
    cast(x_idiv(us, 60000000) * 60000000 as bigint) as minute_us,
    cast(stage as bigint) as stage,
    cast(count(*) as bigint) as auctions
from auction_stages
group by x_idiv(us, 60000000), stage
