-- one row per auction whose source and placement are known: auction_id; and one per known tail, whose hour_us is NULL
with placed as (
    select source, placement, auction_id, us, hour_us, empty, null::bigint as carried
    from states.auctions
    where source is not null and placement is not null
    union all
    select
        tails.source,
        tails.placement,
        tails.last_auction_id as auction_id,
        tails.last_us as us,
        null::bigint as hour_us,
        case when tails.run > 0 then 1 else 0 end as empty,
        tails.run as carried
    from states.tails
    semi join states.auctions
        on tails.source = auctions.source and tails.placement = auctions.placement
),

numbered as (
    select
        *,
        row_number() over in_order as n,
        lag(us) over in_order as before_us,
        lead(hour_us) over in_order is distinct from hour_us as is_last
    from placed
    window in_order as (partition by source, placement order by us, auction_id)
),

broken as (
    select
        *,
        max(case when empty = 0 then n end) over (
            partition by source, placement order by n rows between unbounded preceding and 1 preceding
        ) as full_n,
        greatest(coalesce(max(carried) over (partition by source, placement), 1), 1) - 1 as more
    from numbered
),

counted as (
    select
        *,
        least(case when full_n is null then n - 1 + more else n - 1 - full_n end, 8) as run
    from broken
)

select
    source,
    placement,
    auction_id,
    us,
    hour_us,
    run,
    (us - before_us) / 1000.0::double as delay_ms,
    case when run < 3 then null when us - before_us <= 1000000 then 1 else 0 end as hammering,
    is_last,
    case when empty = 1 then least(run + 1, 8) else 0 end as run_after
from counted
