-- Success of attempts and of calls with what it is measured on, that is what was sent less what was cancelled: one row
-- per stream and partner.
with counted as (
    select
        stream,
        partner,
        sum(calls)::bigint as calls,
        sum(answered_attempts)::bigint as answered_attempts,
        sum(attempts_sent - cancelled_attempts) filter (answered_attempts is not null)::bigint as judged_attempts,
        sum(answered_calls)::bigint as answered_calls,
        sum(calls_sent - cancelled_calls) filter (answered_calls is not null)::bigint as judged_calls
    from range_calls
    group by all
)

select
    stream,
    partner,
    answered_attempts,
    judged_attempts,
    answered_attempts::double / nullif(judged_attempts, 0)::double as actual_success,
    answered_calls,
    judged_calls,
    answered_calls::double / nullif(judged_calls, 0)::double as effective_success
from counted
where calls > 0
order by stream, partner
