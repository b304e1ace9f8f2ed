-- one row per hour: the sums of minute_converted
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(sum(auctions) as bigint) as auctions
from minute_converted
group by x_idiv(minute_us, 3600000000)
