-- Calls of a whole stream, numerators and denominators apart: one row per stream. What is unknown for a part of the
-- calls is unknown for all: `hidden` ones do not show how earlier attempts ended, `uncounted` ones not even how many
-- there were, and of `undecided` ones it is unknown whether they were answered.
with counted as (
    select
        /*at*/
        stream,
        sum(calls)::bigint as calls,
        sum(calls_sent)::bigint as calls_sent,
        sum(attempts_sent)::bigint as attempts_sent,
        sum(answered_attempts)::bigint as answered_attempts,
        sum(attempts_sent - cancelled_attempts)::bigint as judged_attempts,
        sum(answered_calls)::bigint as answered_calls,
        sum(calls_sent - cancelled_calls)::bigint as judged_calls,
        sum(retries)::bigint as retries,
        sum(retried)::bigint as retried,
        sum(recovered)::bigint as recovered,
        sum(late_retries) filter (late_checked > 0)::bigint as late_retries,
        coalesce(sum(late_checked), 0)::bigint as late_checked,
        coalesce(sum(hidden), 0)::bigint as hidden,
        coalesce(sum(uncounted), 0)::bigint as uncounted,
        coalesce(sum(undecided), 0)::bigint as undecided
    from range_calls
    group by all
    having sum(calls) > 0
)

select
    /*at*/
    stream,
    calls,
    calls_sent,
    case when uncounted = 0 then attempts_sent end as attempts_sent,
    case when hidden = 0 then answered_attempts end as answered_attempts,
    case when hidden = 0 then judged_attempts end as judged_attempts,
    case when undecided = 0 then answered_calls end as answered_calls,
    case when undecided = 0 then judged_calls end as judged_calls,
    case when uncounted = 0 then retries end as retries,
    case when uncounted = 0 then retried end as retried,
    case when hidden = 0 then recovered end as recovered,
    late_retries,
    late_checked,
    hidden,
    uncounted,
    undecided
from counted
order by /*at*/ stream
