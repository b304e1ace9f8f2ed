-- one row per minute of attempts, partner, node_key and from_us: reported states that the minute touches
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

minutes as (
    select distinct
        partner,
        coalesce(node, '') as node_key,
        x_idiv(x_us(ts), 60000000) * 60000000 as minute_us,
        x_idiv(x_us(ts), 3600000000) * 3600000000 as hour_us
    from attempts
),

hours as (
    select distinct
        partner,
        node_key,
        hour_us
    from minutes
),

cut_by_hour as (
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
    cast(cut_by_hour.hour_us as bigint) as hour_us,
    cast(minutes.minute_us as bigint) as minute_us,
    cast(cut_by_hour.partner as varchar) as partner,
    cast(cut_by_hour.node_key as varchar) as node_key,
    cast(cut_by_hour.from_us as bigint) as from_us,
    cast(cut_by_hour.to_us as bigint) as to_us
from cut_by_hour
inner join minutes
    on cut_by_hour.partner = minutes.partner
        and cut_by_hour.node_key = minutes.node_key
        and cut_by_hour.hour_us = minutes.hour_us
        and cut_by_hour.from_us < minutes.minute_us + 60000000
        and cut_by_hour.to_us > minutes.minute_us
