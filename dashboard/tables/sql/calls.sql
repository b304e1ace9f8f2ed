-- Calls and what retries made of them: one row per stream and partner. Rates leave cancelled attempts and calls out.
-- What the log does not show of a partner's calls is unknown: the outcomes of earlier attempts, or even how many.
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
        coalesce(sum(hidden), 0) as hidden,
        coalesce(sum(uncounted), 0) as uncounted,
        coalesce(sum(undecided), 0) as undecided,
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
    case when uncounted = 0 then attempts_sent end as attempts_sent,
    not_sent,
    case when uncounted = 0 then retries end as retries,
    case when hidden = 0 then answered_attempts::double / nullif(judged_attempts, 0)::double end as actual_success,
    case when undecided = 0 then answered_calls::double / nullif(judged_calls, 0)::double end as effective_success,
    case when uncounted = 0 then counted.attempts_sent::double / nullif(calls_sent, 0)::double end as amplification,
    case when uncounted = 0 then retried end as retried,
    case when hidden = 0 then recovered end as recovered,
    case when late_checked > 0 then late_retries end as late_retries,
    late_checked
from counted
where calls > 0
order by /*at*/ stream, partner
