-- one row per run of equal breaker states in an hour: hour_us, partner, node, us (an unmarked sent attempt is closed)
with told as (
    select
        attempts.*,
        x_us(attempts.ts) as us,
        x_idiv(x_us(attempts.ts), 3600000000) * 3600000000 as hour_us,
        outcomes.rnk
    from attempts
    inner join outcomes on attempts.outcome = outcomes.outcome
    where attempts.breaker is not null or outcomes.grp <> 'not_sent'
),

groups as (
    select
        hour_us,
        partner,
        coalesce(node, '') as node_key,
        max(node) as node,
        min(us) as first_us,
        max(case when breaker is null then 0 else 1 end) as marked
    from told
    group by hour_us, partner, coalesce(node, '')
),

ordered as (
    select
        told.us,
        told.hour_us,
        told.partner,
        told.node,
        coalesce(told.breaker, 'closed') as state,
        row_number() over (
            partition by told.hour_us, told.partner, told.node
            order by
                told.us, told.attempt asc nulls last, told.request_id asc nulls last, told.rnk asc nulls first,
                told.breaker asc nulls last, told.auction_id
        ) as rn
    from told
    inner join groups
        on told.hour_us = groups.hour_us
            and told.partner = groups.partner
            and coalesce(told.node, '') = groups.node_key
    where groups.marked = 1
),

compared as (
    select
        *,
        lag(state) over (partition by hour_us, partner, node order by rn) as state_before
    from ordered
),

runs as (
    select hour_us, partner, node, state, 1 as marked, us
    from compared
    where state_before is null or state_before <> state
    union all
    select hour_us, partner, node, 'closed' as state, 0 as marked, first_us as us
    from groups
    where marked = 0
)

select
    cast(hour_us as bigint) as hour_us,
    cast(partner as varchar) as partner,
    cast(node as varchar) as node,
    cast(state as varchar) as state,
    cast(marked as bigint) as marked,
    cast(us as bigint) as us
from runs
