-- Where calls, auctions and postbacks drop out, and why: one row per funnel, stage not reached and reason.
-- Of each funnel they add up to the difference of two neighbouring stages that both have evidence.
--: series
with missed as (
    select
        reached.funnel,
        reached.position,
        missed.position as missed_position,
        missed.stage
    from stages as reached
    inner join stages as missed
        on reached.funnel = missed.funnel and reached.position + 1 = missed.position
    where reached.known and missed.known
),

counted as (
    select
        /*at*/
        funnel,
        depth,
        reason,
        sum(n) as n
    from depths
    group by all
),

named as (
    select
        /*at*/
        missed.funnel,
        missed.missed_position,
        missed.stage,
        coalesce(counted.reason, concat('no_', missed.stage)) as reason,
        counted.n
    from counted
    inner join missed on counted.funnel = missed.funnel and counted.depth + 1 = missed.position
)

select
    /*at*/
    funnel,
    stage,
    reason,
    sum(n)::bigint as count
from named
group by /*at*/ funnel, missed_position, stage, reason
having sum(n) > 0
order by
    /*at*/
    list_position(['call', 'auction', 'postback'], funnel),
    missed_position,
    count desc,
    reason
