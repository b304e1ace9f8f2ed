-- Retries to disable: one row per stream, partner and trigger, and roll-ups written '*'. The window is the last days of
-- the stream's data, or those up to the end of the range. The bound is Wilson's, one-sided 95 %.
with measured as (
    select
        counts.*,
        spans.days,
        vals.revenue,
        limits.*,
        counts.successes::double / counts.retries::double as rate,
        limits.z * limits.z / counts.retries as zz,
        (rate + zz / 2 + limits.z * sqrt(rate * (1 - rate) / counts.retries + zz / (4 * counts.retries))) / (1 + zz)
            as upper_bound,
        case
            when not counts.all_of_partners and not counts.all_of_triggers
                and (counts.trigger = 'client_error' or (counts.stream = 'exchange' and counts.trigger = 'no_bid'))
                then 'never'
            when counts.retries >= limits.min_retries and upper_bound < limits.bound then 'disable'
            when counts.retries >= limits.watch_retries and rate < limits.bound then 'watch'
            when counts.retries < limits.watch_retries then 'too_few'
            else 'keep'
        end as verdict
    from flag_counts as counts
    inner join flag_spans as spans using (stream)
    cross join flag_settings as limits
    left join flag_values as vals
        on counts.stream = 'exchange'
            and counts.partner is not distinct from vals.partner
            and counts.trigger is not distinct from vals.trigger
            and counts.all_of_partners = vals.all_of_partners
            and counts.all_of_triggers = vals.all_of_triggers
    where not counts.all_of_partners or (select all_partners from asked)
)

select
    stream,
    case when all_of_partners then '*' else partner end as partner,
    case when all_of_triggers then '*' else trigger end as trigger,
    retries,
    successes,
    least(upper_bound, 1) as upper_bound,
    verdict,
    make_timestamp(last_success_us) as last_success,
    retries / days as retries_per_day,
    latency_ms / days as ms_saved_per_day,
    case when stream = 'exchange' and not blind then bids end as bids_at_risk,
    case when stream = 'exchange' then coalesce(revenue, map {}::map(varchar, decimal(34, 9))) end as revenue_at_risk
from measured
order by
    list_position(['never', 'disable', 'watch', 'keep', 'too_few'], verdict),
    retries desc,
    stream,
    all_of_partners,
    partner,
    all_of_triggers,
    trigger
