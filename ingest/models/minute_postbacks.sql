-- one row per minute, key_id, endpoint, outcome, stage, reason
select
    cast(x_idiv(us, 60000000) * 60000000 as bigint) as minute_us,
    cast(key_id as varchar) as key_id,
    cast(endpoint as varchar) as endpoint,
    cast(outcome as varchar) as outcome,
    cast(reason as varchar) as reason,
    cast(stage as bigint) as stage,
    cast(count(*) as bigint) as postbacks,
    cast(sum(duplicate) as bigint) as duplicates,
    cast(min(us) as bigint) as first_us
from postback_results
group by x_idiv(us, 60000000), key_id, endpoint, outcome, stage, reason
