-- one row per hour, partner, node
select
    cast(x_idiv(x_us(ts), 3600000000) * 3600000000 as bigint) as hour_us,
    cast(partner as varchar) as partner,
    cast(node as varchar) as node,
    cast(min(x_us(ts)) as bigint) as first_us,
    cast(max(x_us(ts)) as bigint) as last_us,
    cast(count(*) as bigint) as attempts
from attempts
group by x_idiv(x_us(ts), 3600000000), partner, node
