-- What became of postbacks: one row per key and outcome; duplicates are accepted ones that were known already.
select
    /*at*/
    key_id as partner,
    outcome,
    sum(postbacks)::bigint as postbacks,
    sum(duplicates)::bigint as duplicates
from range_postbacks
group by all
having sum(postbacks) > 0
order by /*at*/ partner, outcome
