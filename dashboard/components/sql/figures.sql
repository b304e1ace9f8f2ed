-- Calls of a whole stream, numerators and denominators apart: one row per stream. What is unknown for a part of the
-- calls is measured on the rest, numerator and denominator alike.
select
    /*at*/
    stream,
    sum(calls)::bigint as calls,
    sum(calls_sent)::bigint as calls_sent,
    sum(attempts_sent)::bigint as attempts_sent,
    sum(answered_attempts)::bigint as answered_attempts,
    sum(attempts_sent - cancelled_attempts) filter (answered_attempts is not null)::bigint as judged_attempts,
    sum(answered_calls)::bigint as answered_calls,
    sum(calls_sent - cancelled_calls) filter (answered_calls is not null)::bigint as judged_calls,
    sum(retries)::bigint as retries,
    sum(retried)::bigint as retried,
    sum(recovered)::bigint as recovered,
    sum(late_retries) filter (late_checked > 0)::bigint as late_retries,
    coalesce(sum(late_checked), 0)::bigint as late_checked
from range_calls
group by all
having sum(calls) > 0
order by /*at*/ stream
