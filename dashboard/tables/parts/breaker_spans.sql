-- breaker intervals that touch the range, each with its attempts; those `_here` lie within the range
with kept as (
    select
        intervals.*,
        greatest(from_us, frm_us) as here_from_us,
        least(to_us, ends_us) as here_to_us,
        frm_us,
        ends_us
    from breaker_intervals as intervals
    cross join (
        select coalesce(frm_us, -9223372036854775807) as frm_us, coalesce(to_us, 9223372036854775807) as ends_us
        from asked
    )
    where from_us < ends_us and (to_us is null or to_us > frm_us or from_us >= frm_us)
),

cuts as (
    select distinct
        partner,
        node_key,
        unnest([
            from_us,
            to_us,
            case when frm_us > from_us then frm_us end,
            case when ends_us < 9223372036854775807 then ends_us end
        ]) as us
    from kept
),

edges as (
    select distinct
        partner,
        node_key,
        x_idiv(us, 60000000) * 60000000 as minute_us,
        x_idiv(us, 3600000000) * 3600000000 as hour_us
    from cuts
    where us is not null
),

points as (
    select partner, concat('n', node) as node_key, hour_us as us, outcome, attempts
    from hour_attempts
    where
        partner in (select partner from kept)
        and (partner, concat('n', node), hour_us) not in (select (partner, node_key, hour_us) from edges)
    union all
    select partner, concat('n', node) as node_key, minute_us as us, outcome, attempts
    from minute_attempts
    where
        (partner, concat('n', node), x_idiv(minute_us, 3600000000) * 3600000000)
        in (select (partner, node_key, hour_us) from edges)
        and (partner, concat('n', node), minute_us) not in (select (partner, node_key, minute_us) from edges)
    union all
    select partner, concat('n', node) as node_key, x_us(ts) as us, outcome, 1 as attempts
    from attempts
    where
        (partner, concat('n', node), x_idiv(x_us(ts), 60000000) * 60000000)
        in (select (partner, node_key, minute_us) from edges)
),

spent as (
    select
        kept.partner,
        kept.node_key,
        kept.place,
        sum(points.attempts) filter (outcomes.grp <> 'not_sent')::bigint as attempts,
        sum(points.attempts) filter (outcomes.grp = 'failure')::bigint as failures,
        sum(points.attempts) filter (points.outcome = 'not_sent_breaker')::bigint as blocked,
        sum(points.attempts) filter (outcomes.grp <> 'not_sent' and here)::bigint as attempts_here,
        sum(points.attempts) filter (outcomes.grp = 'failure' and here)::bigint as failures_here,
        sum(points.attempts) filter (points.outcome = 'not_sent_breaker' and here)::bigint as blocked_here,
        sum(points.attempts) filter (outcomes.grp = 'answered' and here)::bigint as answered_here,
        sum(points.attempts) filter (outcomes.grp = 'cancelled' and here)::bigint as cancelled_here
    from (
        select
            points.*,
            kept.place,
            points.us >= kept.frm_us and points.us < kept.ends_us as here
        from points
        asof join (from kept where to_us is null or to_us > from_us) as kept
            on points.partner = kept.partner and points.node_key = kept.node_key and points.us >= kept.from_us
        where kept.to_us is null or points.us < kept.to_us
    ) as points
    inner join outcomes on points.outcome = outcomes.outcome
    inner join kept using (partner, node_key, place)
    group by all
)

select
    kept.partner,
    kept.node,
    kept.place,
    kept.state,
    kept.from_us,
    kept.to_us,
    kept.here_from_us,
    kept.here_to_us,
    coalesce(spent.attempts, 0) as attempts,
    coalesce(spent.failures, 0) as failures,
    coalesce(spent.blocked, 0) as blocked,
    coalesce(spent.attempts_here, 0) as attempts_here,
    coalesce(spent.failures_here, 0) as failures_here,
    coalesce(spent.blocked_here, 0) as blocked_here,
    coalesce(spent.answered_here, 0) as answered_here,
    coalesce(spent.cancelled_here, 0) as cancelled_here
from kept
left join spent using (partner, node_key, place)
