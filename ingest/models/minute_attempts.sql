-- one row per minute, partner, node, outcome, reason
select
    cast(x_idiv(x_us(ts), 60000000) * 60000000 as bigint) as minute_us,
    cast(partner as varchar) as partner,
    cast(node as varchar) as node,
    cast(outcome as varchar) as outcome,
    cast(reason as varchar) as reason,
    cast(count(*) as bigint) as attempts
from attempts
group by x_idiv(x_us(ts), 60000000), partner, node, outcome, reason
