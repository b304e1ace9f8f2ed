-- one row per auction: auction_id
with called as (
    select
        auction_id,
        min(call_us) as first_call_us,
        max(case
            when stage > 6 then 5
            when stage > 5 then 4
            when stage > 4 then 3
            when stage > 2 then 2
            when stage > 0 then 1
            else 0
        end) as stage
    from calls
    group by auction_id
),

told as (
    select
        attempts.auction_id,
        attempts.source,
        attempts.placement,
        row_number() over (
            partition by attempts.auction_id
            order by attempts.source asc nulls last, attempts.placement asc nulls last
        ) as rn
    from attempts
    inner join (
        select called.auction_id, called.first_call_us
        from called
        left join auction_heads on called.auction_id = auction_heads.auction_id
        where auction_heads.source is null or auction_heads.placement is null
    ) as untold on attempts.auction_id = untold.auction_id and x_us(attempts.ts) = untold.first_call_us
),

ids as (
    select auction_id from auction_heads
    union
    select auction_id from called
),

placed as (
    select
        ids.auction_id,
        coalesce(auction_heads.us, called.first_call_us) as us,
        coalesce(called.stage, 0) as stage,
        coalesce(auction_heads.source, told.source) as source,
        coalesce(auction_heads.placement, told.placement) as placement,
        case when coalesce(called.stage, 0) < 2 and auction_heads.winner is null then 1 else 0 end as empty
    from ids
    left join auction_heads on ids.auction_id = auction_heads.auction_id
    left join called on ids.auction_id = called.auction_id
    left join told on ids.auction_id = told.auction_id and told.rn = 1
)

select
    cast(auction_id as varchar) as auction_id,
    cast(source as varchar) as source,
    cast(placement as varchar) as placement,
    cast(stage as bigint) as stage,
    cast(empty as bigint) as empty,
    cast(us as bigint) as us,
    cast(x_idiv(us, 3600000000) * 3600000000 as bigint) as hour_us,
    x_ts(us) as ts
from placed
