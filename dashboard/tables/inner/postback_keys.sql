-- How far the postbacks of each key got: one row per key. Where some have no known answer, only their number is known.
--: series
with counted as (
    select
        /*at*/
        key_id as partner,
        sum(postbacks)::bigint as received,
        coalesce(sum(postbacks) filter (outcome = 'answered_unknown'), 0)::bigint as untold,
        coalesce(sum(postbacks) filter (stage >= 1), 0)::bigint as passed_limits,
        coalesce(sum(postbacks) filter (stage >= 2), 0)::bigint as authentic,
        coalesce(sum(postbacks) filter (stage >= 3), 0)::bigint as accepted,
        coalesce(sum(postbacks) filter (stage >= 4), 0)::bigint as "unique",
        coalesce(sum(duplicates), 0)::bigint as duplicates
    from range_postbacks
    group by all
    having sum(postbacks) > 0
)

select
    /*at*/
    partner,
    received,
    untold,
    case when untold = 0 then passed_limits end as passed_limits,
    case when untold = 0 then authentic end as authentic,
    case when untold = 0 then accepted end as accepted,
    case when untold = 0 then "unique" end as "unique",
    case when untold = 0 then duplicates end as duplicates
from counted
order by /*at*/ partner
