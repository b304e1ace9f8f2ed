-- one row per hour, partner, node and from_us: attempts of an hour since its node's last reported state, entered then
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
inner join breaker_cuts as cut
    on attempts.partner = cut.partner
        and coalesce(attempts.node, '') = cut.node_key
        and x_idiv(x_us(attempts.ts), 60000000) * 60000000 = cut.minute_us
where x_us(attempts.ts) >= cut.from_us and x_us(attempts.ts) < cut.to_us
group by cut.hour_us, attempts.partner, attempts.node, cut.from_us
