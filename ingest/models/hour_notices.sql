-- one row per hour, kind, partner, currency: the sums of minute_notices
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(kind as varchar) as kind,
    cast(partner as varchar) as partner,
    cast(currency as varchar) as currency,
    cast(sum(deliveries) as bigint) as deliveries,
    cast(sum(uniques) as bigint) as uniques,
    cast(sum(duplicates) as bigint) as duplicates,
    cast(sum(orphans) as bigint) as orphans,
    cast(sum(without_price) as bigint) as without_price,
    cast(sum(price) as decimal(38, 6)) as price
from minute_notices
group by x_idiv(minute_us, 3600000000), kind, partner, currency
