-- The three funnels: one row per funnel and stage. A stage without any evidence in the whole data has no count.
--: series
with counted as (
    select
        /*at*/
        funnel,
        depth,
        sum(n) as n
    from depths
    group by all
),

reached as (
    select
        /*at*/
        funnel,
        position,
        sum(n)::bigint as n
    from counted
    inner join stages using (funnel)
    where counted.depth >= stages.position - 1
    group by all
),

shown as (
    select
        /*at*/
        stages.funnel,
        stages.position,
        stages.stage,
        case when stages.known then coalesce(reached.n, 0) end as count
    from moments
    inner join stages on stages.funnel in (from shown_funnels)
    left join reached using (/*at*/ funnel, position)
)

select
    /*at*/
    funnel,
    position,
    stage,
    count,
    count::double / nullif(lag(count) over steps, 0)::double as of_previous,
    count::double / nullif(first_value(count) over steps, 0)::double as of_first
from shown
window steps as (partition by /*at*/ funnel order by position)
order by /*at*/ list_position(['call', 'auction', 'postback'], funnel), position
