-- breaker intervals that touch the range, each with all of its attempts
with kept as (
    select
        intervals.*,
        greatest(from_us, frm_us) as here_from_us,
        least(to_us, ends_us) as here_to_us
    from breaker_intervals as intervals
    cross join (
        select coalesce(frm_us, -9223372036854775807) as frm_us, coalesce(to_us, 9223372036854775807) as ends_us
        from asked
    )
    where from_us < ends_us and (to_us is null or to_us > frm_us or from_us >= frm_us)
),

spent as (
    select
        lasting.partner,
        lasting.node_key,
        lasting.place,
        sum(pieces.attempts)::bigint as attempts,
        sum(pieces.failures)::bigint as failures,
        sum(pieces.blocked)::bigint as blocked
    from breaker_pieces as pieces
    asof join (from kept where to_us is null or to_us > from_us) as lasting
        on pieces.partner = lasting.partner
            and concat('n', pieces.node) = lasting.node_key
            and pieces.from_us >= lasting.from_us
    where lasting.to_us is null or pieces.from_us < lasting.to_us
    group by all
)

select
    kept.partner,
    kept.node,
    kept.node_key,
    kept.place,
    kept.state,
    kept.from_us,
    kept.to_us,
    kept.here_from_us,
    kept.here_to_us,
    coalesce(spent.attempts, 0) as attempts,
    coalesce(spent.failures, 0) as failures,
    coalesce(spent.blocked, 0) as blocked
from kept
left join spent using (partner, node_key, place)
