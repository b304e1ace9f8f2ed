-- one row per attempt, in its call, with the verdicts of the rules on it: auction_id, partner, call_us, position
-- (the only one shown of several, or of an unknown number, hides the others: then no rule is judged in its call)
with single as (
    select
        attempts.auction_id,
        attempts.partner,
        attempts.outcome,
        attempts.reason,
        attempts.reject_reason,
        attempts.not_sent,
        attempts.region,
        attempts.latency_ms,
        attempts.timeout_ms,
        attempts.tmax_ms,
        call_starts.call_us,
        outcomes.grp,
        outcomes.rnk,
        case when outcomes.grp = 'not_sent' then 0 else 1 end as sent,
        case when outcomes.grp = 'answered' then 1 else 0 end as answered,
        case when attempts.last_only and attempts.attempt_count > 1 then attempts.attempt_count - 1 else 0 end
            as attempts_hidden,
        case when attempts.last_only and attempts.attempt_count is null and outcomes.grp <> 'not_sent' then 1 else 0 end
            as uncounted,
        attempts.elapsed_ms + attempts.latency_ms
        - coalesce(attempts.budget_ms, auction_heads.tmax_ms) + settings.reserve_ms as over_ms,
        coalesce(attempts.budget_ms, auction_heads.tmax_ms) - settings.reserve_ms - attempts.elapsed_ms as left_ms,
        coalesce(attempts.budget_ms, auction_heads.tmax_ms) - attempts.elapsed_ms as remaining_ms,
        breaker_hours.state as breaker_before
    from attempts
    inner join outcomes on attempts.outcome = outcomes.outcome
    inner join call_starts
        on attempts.auction_id = call_starts.auction_id and attempts.partner = call_starts.partner
    left join auction_heads on attempts.auction_id = auction_heads.auction_id
    left join breaker_hours
        on attempts.partner = breaker_hours.partner
            and coalesce(attempts.node, '') = breaker_hours.node_key
            and x_idiv(x_us(attempts.ts), 3600000000) * 3600000000 = breaker_hours.hour_us
            and x_us(attempts.ts) > breaker_hours.from_us
            and x_us(attempts.ts) <= breaker_hours.to_us
    cross join settings
    where call_starts.alone = 1
),

repeated as (
    select
        attempts.*,
        call_starts.call_us,
        x_us(attempts.ts) as us,
        outcomes.grp,
        outcomes.rnk,
        case when outcomes.grp = 'not_sent' then 0 else 1 end as sent,
        case when outcomes.grp = 'answered' then 1 else 0 end as answered,
        case when attempts.last_only and attempts.attempt_count > 1 then attempts.attempt_count - 1 else 0 end
            as attempts_hidden,
        case when attempts.last_only and attempts.attempt_count is null and outcomes.grp <> 'not_sent' then 1 else 0 end
            as uncounted,
        attempts.elapsed_ms + attempts.latency_ms
        - coalesce(attempts.budget_ms, auction_heads.tmax_ms) + settings.reserve_ms as over_ms,
        coalesce(attempts.budget_ms, auction_heads.tmax_ms) - settings.reserve_ms - attempts.elapsed_ms as left_ms,
        coalesce(attempts.budget_ms, auction_heads.tmax_ms) - attempts.elapsed_ms as remaining_ms,
        breaker_hours.state as breaker_before
    from attempts
    inner join outcomes on attempts.outcome = outcomes.outcome
    inner join call_starts
        on attempts.auction_id = call_starts.auction_id and attempts.partner = call_starts.partner
    left join auction_heads on attempts.auction_id = auction_heads.auction_id
    left join breaker_hours
        on attempts.partner = breaker_hours.partner
            and coalesce(attempts.node, '') = breaker_hours.node_key
            and x_idiv(x_us(attempts.ts), 3600000000) * 3600000000 = breaker_hours.hour_us
            and x_us(attempts.ts) > breaker_hours.from_us
            and x_us(attempts.ts) <= breaker_hours.to_us
    cross join settings
    where
        call_starts.alone = 0
        and x_us(attempts.ts) >= call_starts.call_us
        and x_us(attempts.ts) <= call_starts.call_us + settings.call_span_us
),

ordered as (
    select
        *,
        row_number() over (
            partition by auction_id, partner, call_us
            order by
                us, attempt asc nulls last, request_id asc nulls last, rnk asc nulls first,
                tmax_ms asc nulls last, budget_ms asc nulls last, timeout_ms asc nulls last,
                elapsed_ms asc nulls last, latency_ms asc nulls last, http_status asc nulls last,
                error_type asc nulls last, nbr asc nulls last, bids asc nulls last, price asc nulls last,
                currency asc nulls last, reject_reason asc nulls last, breaker asc nulls last,
                not_sent asc nulls last, retry_after_s asc nulls last, backoff_ms asc nulls last,
                source asc nulls last, placement asc nulls last, region asc nulls last,
                node asc nulls last, outcome, reason asc nulls last, attempt_count asc nulls last,
                last_only asc nulls last
        ) as position
    from repeated
),

numbered as (
    select
        *,
        sum(sent) over (
            partition by auction_id, partner, call_us order by position
            rows between unbounded preceding and current row
        ) - 1 as sent_no,
        max(case when attempts_hidden > 0 or uncounted = 1 then 1 else 0 end) over (
            partition by auction_id, partner, call_us
        ) as hidden,
        max(position) over (partition by auction_id, partner, call_us) as last_position,
        max(case when sent = 1 then position end) over (partition by auction_id, partner, call_us) as last_sent,
        max(case when answered = 1 then position end) over (partition by auction_id, partner, call_us)
            as last_answered,
        max(case when outcome = 'bid' then position end) over (partition by auction_id, partner, call_us) as last_bid,
        max(case when sent = 1 then position end) over (
            partition by auction_id, partner, call_us order by position
            rows between unbounded preceding and 1 preceding
        ) as trigger_position,
        min(case when sent = 1 then position end) over (partition by auction_id, partner, call_us)
            as original_position
    from ordered
),

triggered as (
    select
        numbered.*,
        before.outcome as trigger_outcome,
        before.rnk as trigger_rnk,
        before.reason as trigger_reason,
        before.http_status as trigger_status,
        before.retry_after_s as trigger_retry_after_s,
        before.us as trigger_us,
        before.latency_ms as trigger_latency_ms,
        original.request_id as original_request_id,
        original.outcome as original_outcome,
        original.rnk as original_rnk,
        original.grp as original_grp
    from numbered
    left join numbered as before
        on numbered.auction_id = before.auction_id
            and numbered.partner = before.partner
            and numbered.call_us = before.call_us
            and numbered.trigger_position = before.position
    left join numbered as original
        on numbered.auction_id = original.auction_id
            and numbered.partner = original.partner
            and numbered.call_us = original.call_us
            and numbered.original_position = original.position
),

placed as (
    select
        auction_id, partner, call_us, call_us as us, outcome, reason, grp, rnk, sent, answered, over_ms,
        reject_reason, not_sent, region, latency_ms, attempts_hidden, uncounted,
        case when attempts_hidden > 0 or uncounted = 1 then 1 else 0 end as hidden,
        1 as alone,
        1 as position,
        sent - 1 as sent_no,
        1 as is_last,
        sent as is_last_sent,
        answered as is_last_answered,
        case when outcome = 'bid' then 1 else 0 end as is_last_bid,
        0 as is_retry,
        timeout_ms, tmax_ms, left_ms, remaining_ms, breaker_before,
        cast(null as varchar) as request_id,
        cast(null as double) as delay_ms,
        cast(null as bigint) as told,
        cast(null as varchar) as trigger_outcome,
        cast(null as bigint) as trigger_rnk,
        cast(null as varchar) as trigger_reason,
        cast(null as bigint) as trigger_status,
        cast(null as varchar) as original_request_id,
        case when sent = 1 then outcome end as original_outcome,
        case when sent = 1 then rnk end as original_rnk,
        case when sent = 1 then grp end as original_grp
    from single
    union all
    select
        auction_id, partner, call_us, us, outcome, reason, grp, rnk, sent, answered, over_ms,
        reject_reason, not_sent, region, latency_ms, attempts_hidden, uncounted,
        hidden,
        0 as alone,
        position,
        sent_no,
        case when position = last_position then 1 else 0 end as is_last,
        case when position = last_sent then 1 else 0 end as is_last_sent,
        case when position = last_answered then 1 else 0 end as is_last_answered,
        case when position = last_bid then 1 else 0 end as is_last_bid,
        case when hidden = 0 and sent = 1 and sent_no > 0 and outcome <> 'cancelled' then 1 else 0 end as is_retry,
        timeout_ms, tmax_ms, left_ms, remaining_ms, breaker_before, request_id,
        case
            when sent = 0 or sent_no = 0 then null
            when backoff_ms is not null then backoff_ms
            when (us - trigger_us) * 0.001 > coalesce(trigger_latency_ms, 0)
                then (us - trigger_us) * 0.001 - coalesce(trigger_latency_ms, 0)
            else 0
        end as delay_ms,
        case when trigger_retry_after_s is null then 0 else 1 end as told,
        case when sent = 1 and sent_no > 0 then trigger_outcome end as trigger_outcome,
        case when sent = 1 and sent_no > 0 then trigger_rnk end as trigger_rnk,
        trigger_reason,
        trigger_status,
        original_request_id,
        original_outcome,
        original_rnk,
        original_grp
    from triggered
)

select
    cast(auction_id as varchar) as auction_id,
    cast(partner as varchar) as partner,
    cast(outcome as varchar) as outcome,
    cast(reason as varchar) as reason,
    cast(grp as varchar) as grp,
    cast(reject_reason as varchar) as reject_reason,
    cast(not_sent as varchar) as not_sent,
    cast(region as varchar) as region,
    cast(trigger_outcome as varchar) as trigger_outcome,
    cast(original_outcome as varchar) as original_outcome,
    cast(original_grp as varchar) as original_grp,
    cast(rnk as bigint) as rnk,
    cast(alone as bigint) as alone,
    cast(sent as bigint) as sent,
    cast(answered as bigint) as answered,
    cast(attempts_hidden as bigint) as attempts_hidden,
    cast(uncounted as bigint) as uncounted,
    cast(hidden as bigint) as hidden,
    cast(case when over_ms > 0 then 1 when over_ms <= 0 then 0 end as bigint) as late,
    cast(position as bigint) as position,
    cast(case when sent = 1 then sent_no end as bigint) as sent_no,
    cast(is_last as bigint) as is_last,
    cast(is_last_sent as bigint) as is_last_sent,
    cast(is_last_answered as bigint) as is_last_answered,
    cast(is_last_bid as bigint) as is_last_bid,
    cast(trigger_rnk as bigint) as trigger_rnk,
    cast(original_rnk as bigint) as original_rnk,
    cast(case when is_retry = 1 then told end as bigint) as told,
    cast(case
        when is_retry = 0 then null
        when trigger_outcome = 'no_bid' and trigger_reason in ('2', '3', '4', '5') then 1
        else 0
    end as bigint) as r1_harmful,
    cast(case
        when is_retry = 0 then null
        when trigger_outcome = 'no_bid' and coalesce(trigger_reason, '') not in ('2', '3', '4', '5') then 1
        else 0
    end as bigint) as r1_waste,
    cast(case
        when is_retry = 0 then null
        when trigger_outcome = 'server_error' and trigger_status not in (502, 503) then 1
        when trigger_outcome in (
            'reset', 'rate_limited', 'invalid_response', 'unexpected_status', 'unknown_error', 'cancelled', 'bid',
            'answered_unknown'
        ) then 1
        else 0
    end as bigint) as r2,
    cast(case
        when is_retry = 0 then null
        when trigger_outcome = 'timeout' then 1
        else 0
    end as bigint) as r3,
    cast(case
        when is_retry = 0 then null
        when sent_no > 2 then 1
        else 0
    end as bigint) as r4,
    cast(case
        when is_retry = 0 then null
        when left_ms < timeout_ms then 1
        when left_ms >= timeout_ms then 0
    end as bigint) as r5,
    cast(case
        when is_retry = 0 then null
        when request_id <> original_request_id then 1
        when request_id = original_request_id then 0
    end as bigint) as r6,
    cast(case
        when hidden = 1 or sent = 0 or breaker_before is null then null
        when breaker_before = 'open' then 1
        else 0
    end as bigint) as r7,
    cast(case
        when is_retry = 0 then null
        when trigger_outcome = 'client_error' then 1
        else 0
    end as bigint) as r8,
    cast(case
        when hidden = 1 or sent = 0 then null
        when tmax_ms > remaining_ms then 1
        when tmax_ms <= remaining_ms then 0
    end as bigint) as r12,
    cast(left_ms as double) as left_ms,
    cast(timeout_ms as double) as timeout_ms,
    cast(delay_ms as double) as delay_ms,
    cast(latency_ms as double) as latency_ms,
    cast(call_us as bigint) as call_us,
    cast(us as bigint) as us
from placed
