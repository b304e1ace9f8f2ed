-- How far the postbacks of each key got: one row per key.
--: series
select
    /*at*/
    key_id as partner,
    sum(postbacks)::bigint as received,
    coalesce(sum(postbacks) filter (stage >= 1), 0)::bigint as passed_limits,
    coalesce(sum(postbacks) filter (stage >= 2), 0)::bigint as authentic,
    coalesce(sum(postbacks) filter (stage >= 3), 0)::bigint as accepted,
    coalesce(sum(postbacks) filter (stage >= 4), 0)::bigint as "unique",
    coalesce(sum(duplicates), 0)::bigint as duplicates
from range_postbacks
group by all
having sum(postbacks) > 0
order by /*at*/ partner
