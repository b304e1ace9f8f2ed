-- one row per minute, partner, trigger, left_from_ms: retries by the time left (20 ms each; NULL: not known) (by call)
select
    cast(x_idiv(call_us, 60000000) * 60000000 as bigint) as minute_us,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(x_left_bucket(left_ms) as double) as left_from_ms,
    cast(count(*) as bigint) as retries,
    cast(sum(case when infeasible = 0 then 1 else 0 end) as bigint) as feasible,
    cast(sum(case when infeasible = 1 then 1 else 0 end) as bigint) as infeasible,
    cast(sum(case when late is not null then 1 else 0 end) as bigint) as late_checked,
    cast(sum(case when late = 1 then 1 else 0 end) as bigint) as late
from retries
group by x_idiv(call_us, 60000000), partner, trigger, x_left_bucket(left_ms)
