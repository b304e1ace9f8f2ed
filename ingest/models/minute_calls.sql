-- one row per minute, stream, partner, stage, reason, fate (a call lies at its first attempt)
with units as (
    select
        call_us,
        'exchange' as stream,
        partner, stage, reason, fate, attempts_sent, not_sent, retries, answered_attempts,
        cancelled_attempts, retried, recovered, late_retries, late_checked, hidden, uncounted, 0 as undecided
    from calls
    union all
    select
        call_us,
        'postback' as stream,
        partner, cast(null as bigint) as stage, cast(null as varchar) as reason, fate, attempts_sent,
        0 as not_sent, retries, answered_attempts, 0 as cancelled_attempts, retried, recovered,
        0 as late_retries, 0 as late_checked, hidden, uncounted, undecided
    from orders
)

select
    cast(x_idiv(call_us, 60000000) * 60000000 as bigint) as minute_us,
    cast(stream as varchar) as stream,
    cast(partner as varchar) as partner,
    cast(reason as varchar) as reason,
    cast(fate as varchar) as fate,
    cast(stage as bigint) as stage,
    cast(count(*) as bigint) as calls,
    cast(sum(case when attempts_sent > 0 then 1 else 0 end) as bigint) as calls_sent,
    cast(sum(attempts_sent) as bigint) as attempts_sent,
    cast(sum(not_sent) as bigint) as not_sent,
    cast(sum(retries) as bigint) as retries,
    cast(sum(answered_attempts) as bigint) as answered_attempts,
    cast(sum(cancelled_attempts) as bigint) as cancelled_attempts,
    cast(sum(case when answered_attempts > 0 then 1 else 0 end) as bigint) as answered_calls,
    cast(sum(case when attempts_sent > 0 and attempts_sent = cancelled_attempts then 1 else 0 end) as bigint)
        as cancelled_calls,
    cast(sum(retried) as bigint) as retried,
    cast(sum(recovered) as bigint) as recovered,
    cast(sum(late_retries) as bigint) as late_retries,
    cast(sum(late_checked) as bigint) as late_checked,
    cast(sum(hidden) as bigint) as hidden,
    cast(sum(uncounted) as bigint) as uncounted,
    cast(sum(undecided) as bigint) as undecided
from units
group by x_idiv(call_us, 60000000), stream, partner, stage, reason, fate
