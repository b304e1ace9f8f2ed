-- one row per hour, partner, trigger, before_bits, retries, feasible, unfit_before: sums of minute_ends
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(before_bits as bigint) as before_bits,
    cast(retries as bigint) as retries,
    cast(feasible as bigint) as feasible,
    cast(unfit_before as bigint) as unfit_before,
    cast(sum(calls) as bigint) as calls
from minute_ends
group by x_idiv(minute_us, 3600000000), partner, trigger, before_bits, retries, feasible, unfit_before
