-- one row per hour, partner, node, outcome, reason: the sums of minute_attempts
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(partner as varchar) as partner,
    cast(node as varchar) as node,
    cast(outcome as varchar) as outcome,
    cast(reason as varchar) as reason,
    cast(sum(attempts) as bigint) as attempts
from minute_attempts
group by x_idiv(minute_us, 3600000000), partner, node, outcome, reason
