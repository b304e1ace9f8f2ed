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

ids as (
    select auction_id from auction_heads
    union
    select auction_id from called
),

placed as (
    select
        ids.auction_id,
        coalesce(auction_heads.us, called.first_call_us) as us,
        coalesce(called.stage, 0) as stage
    from ids
    left join auction_heads on ids.auction_id = auction_heads.auction_id
    left join called on ids.auction_id = called.auction_id
)

select
    cast(auction_id as varchar) as auction_id,
    cast(stage as bigint) as stage,
    cast(us as bigint) as us,
    cast(x_idiv(us, 3600000000) * 3600000000 as bigint) as hour_us,
    x_ts(us) as ts
from placed
