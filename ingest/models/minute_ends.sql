-- one row per minute, partner, trigger, before_bits, retries, feasible, unfit_before (by the call's first attempt)
select
    cast(x_idiv(call_us, 60000000) * 60000000 as bigint) as minute_us,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(before_bits as bigint) as before_bits,
    cast(retries as bigint) as retries,
    cast(feasible as bigint) as feasible,
    cast(unfit_before as bigint) as unfit_before,
    cast(count(*) as bigint) as calls
from chain_ends
group by x_idiv(call_us, 60000000), partner, trigger, before_bits, retries, feasible, unfit_before
