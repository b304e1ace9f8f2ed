-- one row per minute: auctions of it that converted
select
    cast(x_idiv(us, 60000000) * 60000000 as bigint) as minute_us,
    cast(count(*) as bigint) as auctions
from converted
group by x_idiv(us, 60000000)
