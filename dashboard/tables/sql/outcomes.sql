-- How attempts ended: one row per partner and outcome.
--: series
select
    /*at*/
    partner,
    outcome,
    sum(attempts)::bigint as attempts
from range_attempts
group by all
having sum(attempts) > 0
order by /*at*/ partner, attempts desc, outcome
