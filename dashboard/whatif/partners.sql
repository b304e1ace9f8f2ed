-- What the policy would have changed by removing retries: one row per partner of the exchange. Calls that show only
-- their last attempt (whose fate is unknown) are left out and counted apart.
with counted as (
    select
        partner,
        coalesce(sum(hidden), 0)::bigint as calls_hidden,
        sum(calls)::bigint - calls_hidden as calls,
        coalesce(sum(calls_sent) filter (shown), 0)::bigint as calls_sent,
        coalesce(sum(attempts_sent) filter (shown), 0)::bigint as attempts_before,
        coalesce(sum(answered_calls) filter (shown), 0)::bigint as answered_before,
        coalesce(sum(calls_sent - cancelled_calls) filter (shown), 0)::bigint as judged_before
    from (select *, fate is distinct from 'unknown' as shown from range_calls)
    where stream = 'exchange'
    group by all
    having sum(calls) > 0
),

saved as (
    select
        partner,
        coalesce(sum(retries) filter (removed), 0)::bigint as attempts_saved,
        coalesce(sum(retries) filter (removed and not followed), 0)::bigint as calls_cut,
        sum(latency_ms) filter (removed) as ms_saved,
        coalesce(sum(late_retries) filter (removed), 0)::bigint as late_saved,
        coalesce(sum(late_checked) filter (removed), 0)::bigint as late_judged,
        coalesce(sum(first_answers) filter (removed), 0)::bigint as answered_lost,
        coalesce(sum(first_judged) filter (removed), 0)::bigint as judged_lost,
        coalesce(sum(first_bids) filter (removed), 0)::bigint as bids_lost,
        coalesce(sum(wins) filter (removed), 0)::bigint as wins_lost,
        coalesce(sum(retries) filter (not removed and budget_guard and feasible is null), 0)::bigint as unjudged
    from policy_steps
    group by all
),

money as (
    select partner, map_from_entries(list((currency, amount) order by currency)) as revenue_lost
    from (
        select partner, currency, sum(price)::decimal(30, 6) * (select factor from money_factor) as amount
        from policy_steps
        where removed and currency is not null
        group by all
    )
    group by all
)

select
    counted.partner,
    calls,
    calls_hidden,
    calls_sent,
    attempts_before,
    attempts_before - coalesce(attempts_saved, 0) as attempts_after,
    coalesce(attempts_saved, 0) as attempts_saved,
    coalesce(calls_cut, 0) as calls_cut,
    case when coalesce(attempts_saved, 0) = 0 then 0 else ms_saved end::double as ms_saved,
    attempts_before::double / nullif(calls_sent, 0)::double as amplification_before,
    attempts_after::double / nullif(calls_sent, 0)::double as amplification_after,
    answered_before,
    coalesce(answered_lost, 0) as answered_lost,
    judged_before,
    coalesce(judged_lost, 0) as judged_lost,
    answered_before::double / nullif(judged_before, 0)::double as effective_success_before,
    (answered_before - coalesce(answered_lost, 0))::double / nullif(judged_before - coalesce(judged_lost, 0), 0)::double
        as effective_success_after,
    case
        when coalesce(attempts_saved, 0) = 0 then 0
        when counted.partner not in (from blind_partners) then bids_lost
    end as bids_lost,
    coalesce(wins_lost, 0) as wins_lost,
    coalesce(revenue_lost, map {}::map(varchar, decimal(34, 9))) as revenue_lost,
    case when coalesce(attempts_saved, 0) = 0 then 0 when late_judged > 0 then late_saved end as late_saved,
    coalesce(late_judged, 0) as late_judged,
    coalesce(unjudged, 0) as unjudged,
    counted.partner in (from blind_partners) as blind
from counted
left join saved using (partner)
left join money using (partner)
order by counted.partner
