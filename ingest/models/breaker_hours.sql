-- one row per reported breaker interval and hour with attempts in it: partner, node, hour_us, from_us
with intervals as (
    select
        partner,
        coalesce(node, '') as node_key,
        state,
        us as from_us,
        coalesce(
            lead(us) over (partition by partner, node order by place asc nulls last), 9223372036854775807
        ) as to_us
    from breaker_states
),

hours as (
    select distinct
        partner,
        coalesce(node, '') as node_key,
        x_idiv(x_us(ts), 3600000000) * 3600000000 as hour_us
    from attempts
)

select
    cast(intervals.partner as varchar) as partner,
    cast(intervals.node_key as varchar) as node_key,
    cast(intervals.state as varchar) as state,
    cast(hours.hour_us as bigint) as hour_us,
    cast(intervals.from_us as bigint) as from_us,
    cast(intervals.to_us as bigint) as to_us
from intervals
inner join hours
    on intervals.partner = hours.partner
        and intervals.node_key = hours.node_key
        and intervals.from_us < hours.hour_us + 3600000000
        and intervals.to_us >= hours.hour_us
where intervals.state <> 'unknown' and intervals.to_us > intervals.from_us
