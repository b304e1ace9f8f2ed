-- retries of the range under the policy, summed by what decides about them; `removed`: the policy does not send it,
-- `followed`: nor an earlier one of its call
with policy_bits as (
    select rules.*, coalesce(bit_or(named.trigger_bit), 0) as allowed_bits
    from policy_rules as rules
    left join (select distinct trigger, trigger_bit from range_chains) as named
        on rules.triggers is null or list_contains(rules.triggers, named.trigger)
    group by all
),

policy_steps as (
    select
        steps.*,
        rules.budget_guard,
        coalesce(
            before_bits & ~allowed_bits <> 0 or retry_no - 1 > max_retries or (budget_guard and unfit_before = 1),
            false
        ) as followed,
        followed or coalesce(
            trigger_bit & ~allowed_bits <> 0 or retry_no > max_retries or (budget_guard and feasible = 0), false
        ) as removed
    from range_chains as steps
    inner join policy_bits as rules
        on rules.partner is not distinct from case
            when steps.partner in (select partner from policy_rules where partner is not null) then steps.partner
        end
)
