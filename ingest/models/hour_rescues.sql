-- one row per hour, partner, trigger, retry_no, currency: the sums of minute_rescues
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(currency as varchar) as currency,
    cast(retry_no as bigint) as retry_no,
    cast(sum(wins) as bigint) as wins,
    cast(sum(price) as decimal(38, 6)) as price
from minute_rescues
group by x_idiv(minute_us, 3600000000), partner, trigger, retry_no, currency
