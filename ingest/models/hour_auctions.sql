-- one row per hour, stage: the sums of minute_auctions
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(stage as bigint) as stage,
    cast(sum(auctions) as bigint) as auctions
from minute_auctions
group by x_idiv(minute_us, 3600000000), stage
