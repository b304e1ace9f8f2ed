-- Time left for retries: one row per partner, trigger and 20 ms of `left` (budget - reserve - elapsed; the row without a
-- number: not known). Feasible: left for a whole timeout. Cancelled retries are left out.
select
    partner,
    trigger,
    left_from_ms,
    sum(retries)::bigint as retries,
    sum(feasible)::bigint as feasible,
    sum(infeasible)::bigint as infeasible,
    sum(late_checked)::bigint as late_checked,
    sum(late)::bigint as late
from range_budgets
group by all
order by partner, trigger, left_from_ms nulls last
