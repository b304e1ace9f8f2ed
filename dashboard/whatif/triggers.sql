-- What the policy would have removed by what was retried: one row per partner and trigger.
with saved as (
    select
        partner,
        trigger,
        coalesce(sum(retries), 0)::bigint as retries,
        coalesce(sum(retries) filter (removed), 0)::bigint as attempts_saved,
        sum(latency_ms) filter (removed) as ms_saved,
        coalesce(sum(late_retries) filter (removed), 0)::bigint as late_saved,
        coalesce(sum(late_checked) filter (removed), 0)::bigint as late_judged,
        coalesce(sum(first_answers) filter (removed), 0)::bigint as answered_lost,
        coalesce(sum(first_bids) filter (removed), 0)::bigint as bids_lost,
        coalesce(sum(wins) filter (removed), 0)::bigint as wins_lost
    from policy_steps
    group by all
),

money as (
    select partner, trigger, map_from_entries(list((currency, amount) order by currency)) as revenue_lost
    from (
        select partner, trigger, currency, sum(price)::decimal(30, 6) * (select factor from money_factor) as amount
        from policy_steps
        where removed and currency is not null
        group by all
    )
    group by all
)

select
    partner,
    trigger,
    retries,
    attempts_saved,
    case when attempts_saved = 0 then 0 else ms_saved end::double as ms_saved,
    answered_lost,
    case
        when attempts_saved = 0 then 0
        when partner not in (from blind_partners) then bids_lost
    end as bids_lost,
    wins_lost,
    coalesce(revenue_lost, map {}::map(varchar, decimal(34, 9))) as revenue_lost,
    case when attempts_saved = 0 then 0 when late_judged > 0 then late_saved end as late_saved,
    late_judged
from saved
left join money using (partner, trigger)
where retries > 0
order by partner, trigger
