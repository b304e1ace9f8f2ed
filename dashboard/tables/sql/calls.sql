-- Calls and what retries made of them: one row per stream and partner. Rates leave cancelled attempts and calls out.
--: series
with counted as (
    select
        /*at*/
        stream,
        partner,
        sum(calls)::bigint as calls,
        sum(calls_sent)::bigint as calls_sent,
        sum(attempts_sent)::bigint as attempts_sent,
        sum(not_sent)::bigint as not_sent,
        sum(retries)::bigint as retries,
        sum(answered_attempts) as answered_attempts,
        sum(attempts_sent - cancelled_attempts) as judged_attempts,
        sum(answered_calls) as answered_calls,
        sum(calls_sent - cancelled_calls) as judged_calls,
        sum(retried)::bigint as retried,
        sum(recovered)::bigint as recovered,
        sum(late_retries)::bigint as late_retries,
        coalesce(sum(late_checked), 0)::bigint as late_checked
    from range_calls
    group by all
)

select
    /*at*/
    stream,
    partner,
    calls,
    calls_sent,
    attempts_sent,
    not_sent,
    retries,
    answered_attempts::double / nullif(judged_attempts, 0)::double as actual_success,
    answered_calls::double / nullif(judged_calls, 0)::double as effective_success,
    attempts_sent::double / nullif(calls_sent, 0)::double as amplification,
    retried,
    recovered,
    case when late_checked > 0 then late_retries end as late_retries,
    late_checked
from counted
where calls > 0
order by /*at*/ stream, partner
