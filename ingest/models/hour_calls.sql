-- one row per hour, stream, partner, stage, reason, fate: the sums of minute_calls
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(stream as varchar) as stream,
    cast(partner as varchar) as partner,
    cast(reason as varchar) as reason,
    cast(fate as varchar) as fate,
    cast(stage as bigint) as stage,
    cast(sum(calls) as bigint) as calls,
    cast(sum(calls_sent) as bigint) as calls_sent,
    cast(sum(attempts_sent) as bigint) as attempts_sent,
    cast(sum(not_sent) as bigint) as not_sent,
    cast(sum(retries) as bigint) as retries,
    cast(sum(answered_attempts) as bigint) as answered_attempts,
    cast(sum(cancelled_attempts) as bigint) as cancelled_attempts,
    cast(sum(answered_calls) as bigint) as answered_calls,
    cast(sum(cancelled_calls) as bigint) as cancelled_calls,
    cast(sum(retried) as bigint) as retried,
    cast(sum(recovered) as bigint) as recovered,
    cast(sum(late_retries) as bigint) as late_retries,
    cast(sum(late_checked) as bigint) as late_checked,
    cast(sum(hidden) as bigint) as hidden,
    cast(sum(uncounted) as bigint) as uncounted,
    cast(sum(undecided) as bigint) as undecided
from minute_calls
group by x_idiv(minute_us, 3600000000), stream, partner, stage, reason, fate
