-- Estimate of what retries that the policy allows and that were not made might bring: one row per partner and trigger
-- with which calls ended. The interval is Wilson's, two-sided 95 %, of the observed rate, scaled by the retries added.
with ends as (
    select
        failed.partner,
        failed.trigger,
        sum(failed.calls)::bigint as added,
        coalesce(sum(failed.calls) filter (failed.feasible is null), 0)::bigint as unjudged
    from range_ends as failed
    inner join policy_bits as rules
        on rules.partner is not distinct from case
            when failed.partner in (select partner from policy_rules where partner is not null) then failed.partner
        end
    where
        (rules.triggers is null or list_contains(rules.triggers, failed.trigger))
        and (rules.max_retries is null or failed.retries < rules.max_retries)
        and coalesce(failed.feasible, 1) = 1
        and failed.before_bits & ~rules.allowed_bits = 0
        and not (rules.budget_guard and failed.unfit_before = 1)
    group by all
),

tried as (
    select
        partner,
        trigger,
        sum(retries)::bigint as observed,
        sum(successes)::bigint as successes,
        sum(bids)::bigint as bids
    from range_retries
    where stream = 'exchange'
    group by all
    having sum(retries) > 0
),

told as (
    select * replace (case when partner not in (from blind_partners) then bids end as bids)
    from tried
),

normal as (
    select value::double as z
    from settings_in_force
    where name = 'interval_z'
),

rated as (
    select
        ends.*,
        tried.observed,
        tried.successes,
        successes::double / observed::double as success_rate,
        tried.bids::double / observed::double as bid_rate,
        z * z / observed as zz,
        z * sqrt(success_rate * (1 - success_rate) / observed + zz / (4 * observed)) as success_spread,
        z * sqrt(bid_rate * (1 - bid_rate) / observed + zz / (4 * observed)) as bid_spread
    from ends
    left join told as tried using (partner, trigger)
    cross join normal
)

select
    partner,
    trigger,
    added,
    unjudged,
    coalesce(observed, 0) as observed,
    added * success_rate as successes,
    case when observed > 0 then added * greatest((success_rate + zz / 2 - success_spread) / (1 + zz), 0) end
        as successes_low,
    case when observed > 0 then added * least((success_rate + zz / 2 + success_spread) / (1 + zz), 1) end
        as successes_high,
    added * bid_rate as bids,
    case when bid_rate is not null then added * greatest((bid_rate + zz / 2 - bid_spread) / (1 + zz), 0) end as bids_low,
    case when bid_rate is not null then added * least((bid_rate + zz / 2 + bid_spread) / (1 + zz), 1) end as bids_high
from rated
order by partner, trigger
