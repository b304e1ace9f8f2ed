-- Attempts of one auction, each in its call, with what the rules say of it: one row per attempt, in the order of the
-- calls. Verdicts are 1 (broken), 0 (kept) or NULL (could not be judged).
--: needs auction
with starts as (
    select distinct partner, call_us
    from audit_attempts
),

span as (
    select round(value::double * 1000000)::bigint as us
    from settings_in_force
    where name = 'call_span_s'
),

reserve as (
    select value::double as ms
    from settings_in_force
    where name = 'reserve_ms'
),

tmaxes as (
    select auction_id, arg_min(tmax_ms, (x_us(ts), winner is null, winner, tmax_ms)) as tmax_ms
    from auctions
    where tmax_ms is not null
    group by auction_id
),

placed as (
    select attempts.*, starts.call_us
    from attempt_rows as attempts
    inner join starts
        on attempts.partner = starts.partner
            and x_us(attempts.ts) >= starts.call_us
            and x_us(attempts.ts) <= starts.call_us + (select us from span)
),

-- attempts of a call stand in the order in which the models count them
ordered as (
    select
        placed.*,
        row_number() over (
            partition by partner, call_us
            order by
                x_us(ts), attempt asc nulls last, request_id asc nulls last, outcomes.rank asc nulls first,
                tmax_ms asc nulls last, budget_ms asc nulls last, timeout_ms asc nulls last,
                elapsed_ms asc nulls last, latency_ms asc nulls last, http_status asc nulls last,
                error_type asc nulls last, nbr asc nulls last, bids asc nulls last, price asc nulls last,
                currency asc nulls last, reject_reason asc nulls last, breaker asc nulls last,
                not_sent asc nulls last, retry_after_s asc nulls last, backoff_ms asc nulls last,
                source asc nulls last, placement asc nulls last, region asc nulls last,
                node asc nulls last, placed.outcome, reason asc nulls last, attempt_count asc nulls last,
                last_only asc nulls last
        ) as position
    from placed
    inner join outcomes on placed.outcome = outcomes.outcome
),

states as (
    select
        partner,
        coalesce(node, '') as node_key,
        state,
        us as from_us,
        coalesce(lead(us) over (partition by partner, node order by place nulls last), 9223372036854775807) as to_us
    from breaker_states
),

waits as (
    select key, us, min(ends_us) as ends_us, min(next_us) as next_us, min(verdict) as verdict
    from throttle_verdicts
    where stream = 'exchange' and auction_id in (select auction_id from attempt_rows)
    group by key, us
)

select
    ordered.ts,
    ordered.partner,
    ordered.call_us,
    ordered.position,
    judged.sent,
    judged.sent_no as retry_no,
    judged.hidden,
    judged.uncounted,
    judged.trigger_outcome as trigger,
    ordered.outcome,
    ordered.reason,
    judged.grp,
    ordered.elapsed_ms,
    ordered.latency_ms,
    ordered.timeout_ms,
    ordered.tmax_ms,
    coalesce(ordered.budget_ms, judged.left_ms + reserve.ms + ordered.elapsed_ms, tmaxes.tmax_ms) as budget_ms,
    judged.left_ms,
    judged.late,
    judged.delay_ms as pause_ms,
    ordered.backoff_ms,
    ordered.breaker,
    states.state as breaker_state,
    ordered.not_sent,
    ordered.http_status,
    ordered.error_type,
    ordered.price,
    ordered.currency,
    ordered.reject_reason,
    ordered.attempt_count,
    ordered.last_only,
    ordered.node,
    ordered.region,
    ordered.retry_after_s,
    (waits.next_us - waits.ends_us)::double / 1000000 as waited_s,
    waits.verdict,
    r1_harmful,
    r1_waste,
    r2,
    r3,
    r4,
    r5,
    r6,
    r7,
    r8,
    case when waits.verdict <> 'pending' then (waits.verdict = 'early')::bigint end as r10,
    r12
from ordered
inner join audit_attempts as judged
    on ordered.partner = judged.partner
        and ordered.call_us = judged.call_us
        and ordered.position = judged.position
cross join reserve
left join tmaxes on ordered.auction_id = tmaxes.auction_id
left join states
    on ordered.partner = states.partner
        and coalesce(ordered.node, '') = states.node_key
        and x_us(ordered.ts) > states.from_us
        and x_us(ordered.ts) <= states.to_us
left join waits on ordered.partner = waits.key and x_us(ordered.ts) = waits.us
order by ordered.call_us, ordered.partner, ordered.position
