-- one row per hour, partner, trigger, left_from_ms: the sums of minute_budgets
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(left_from_ms as double) as left_from_ms,
    cast(sum(retries) as bigint) as retries,
    cast(sum(feasible) as bigint) as feasible,
    cast(sum(infeasible) as bigint) as infeasible,
    cast(sum(late_checked) as bigint) as late_checked,
    cast(sum(late) as bigint) as late
from minute_budgets
group by x_idiv(minute_us, 3600000000), partner, trigger, left_from_ms
