-- one row per hour, partner, node and from_us: attempts of an hour since its node's last reported state, entered then
with spans as (
    select
        partner,
        coalesce(node, '') as node_key,
        us as from_us,
        coalesce(
            lead(us) over (partition by partner, node order by us, place asc nulls last), 9223372036854775807
        ) as to_us
    from breaker_states
),

hours as (
    select distinct
        partner,
        coalesce(node, '') as node_key,
        x_idiv(x_us(ts), 3600000000) * 3600000000 as hour_us
    from attempts
),

cut as (
    select
        spans.partner,
        spans.node_key,
        spans.from_us,
        spans.to_us,
        hours.hour_us
    from spans
    inner join hours
        on spans.partner = hours.partner
            and spans.node_key = hours.node_key
            and spans.from_us < hours.hour_us + 3600000000
            and spans.to_us > hours.hour_us
    where spans.to_us > spans.from_us
)

select
    cast(cut.hour_us as bigint) as hour_us,
    cast(attempts.partner as varchar) as partner,
    cast(attempts.node as varchar) as node,
    cast(cut.from_us as bigint) as from_us,
    cast(sum(case when outcomes.grp <> 'not_sent' then 1 else 0 end) as bigint) as attempts,
    cast(sum(case when outcomes.grp = 'failure' then 1 else 0 end) as bigint) as failures,
    cast(sum(case when attempts.outcome = 'not_sent_breaker' then 1 else 0 end) as bigint) as blocked,
    cast(sum(case when outcomes.grp = 'answered' then 1 else 0 end) as bigint) as answered,
    cast(sum(case when outcomes.grp = 'cancelled' then 1 else 0 end) as bigint) as cancelled
from attempts
inner join outcomes on attempts.outcome = outcomes.outcome
inner join cut
    on attempts.partner = cut.partner
        and coalesce(attempts.node, '') = cut.node_key
        and x_idiv(x_us(attempts.ts), 3600000000) * 3600000000 = cut.hour_us
where x_us(attempts.ts) >= cut.from_us and x_us(attempts.ts) < cut.to_us
group by cut.hour_us, attempts.partner, attempts.node, cut.from_us
