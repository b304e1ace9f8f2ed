-- one row per hour, key_id, endpoint, outcome, stage, reason: the sums of minute_postbacks
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(key_id as varchar) as key_id,
    cast(endpoint as varchar) as endpoint,
    cast(outcome as varchar) as outcome,
    cast(reason as varchar) as reason,
    cast(stage as bigint) as stage,
    cast(sum(postbacks) as bigint) as postbacks,
    cast(sum(duplicates) as bigint) as duplicates,
    cast(min(first_us) as bigint) as first_us
from minute_postbacks
group by x_idiv(minute_us, 3600000000), key_id, endpoint, outcome, stage, reason
