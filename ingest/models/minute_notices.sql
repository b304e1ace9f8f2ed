-- one row per minute, kind, partner, currency (a delivery lies at its own time, its notice at the first)
select
    cast(x_idiv(us, 60000000) * 60000000 as bigint) as minute_us,
    cast(kind as varchar) as kind,
    cast(partner as varchar) as partner,
    cast(currency as varchar) as currency,
    cast(count(*) as bigint) as deliveries,
    cast(sum(is_first) as bigint) as uniques,
    cast(sum(1 - is_first) as bigint) as duplicates,
    cast(sum(case when is_first = 1 and orphan = 1 then 1 else 0 end) as bigint) as orphans,
    cast(sum(case when is_first = 1 and price is null then 1 else 0 end) as bigint) as without_price,
    cast(sum(case when is_first = 1 then price end) as decimal(38, 6)) as price
from deliveries
group by x_idiv(us, 60000000), kind, partner, currency
