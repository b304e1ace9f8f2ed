-- Time left for retries: one row per partner, trigger and 20 ms of `left` (budget - reserve - elapsed; the row without a
-- number: not known). Feasible: left for a whole timeout. Cancelled retries are left out.
select
    partner,
    trigger_outcome as trigger,
    floor(left_ms / 20) * 20 as left_from_ms,
    count(*)::bigint as retries,
    count(*) filter (r5 = 0)::bigint as feasible,
    count(*) filter (r5 = 1)::bigint as infeasible,
    count(late)::bigint as late_checked,
    coalesce(sum(late), 0)::bigint as late
from audit_attempts
where r4 is not null
group by all
order by partner, trigger, left_from_ms nulls last
