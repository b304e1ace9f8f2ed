-- Success of attempts and of calls with what it is measured on, that is what was sent less what was cancelled: one row
-- per stream and partner.
with counted as (
    select
        stream,
        partner,
        sum(calls)::bigint as calls,
        sum(answered_attempts)::bigint as answered_attempts,
        sum(attempts_sent - cancelled_attempts)::bigint as judged_attempts,
        sum(answered_calls)::bigint as answered_calls,
        sum(calls_sent - cancelled_calls)::bigint as judged_calls,
        coalesce(sum(hidden), 0) as hidden,
        coalesce(sum(undecided), 0) as undecided
    from range_calls
    group by all
)

select
    stream,
    partner,
    case when hidden = 0 then answered_attempts end as answered_attempts,
    case when hidden = 0 then judged_attempts end as judged_attempts,
    case when hidden = 0 then answered_attempts::double / nullif(judged_attempts, 0)::double end as actual_success,
    case when undecided = 0 then answered_calls end as answered_calls,
    case when undecided = 0 then judged_calls end as judged_calls,
    case when undecided = 0 then answered_calls::double / nullif(judged_calls, 0)::double end as effective_success
from counted
where calls > 0
order by stream, partner
