-- one row per auction id that has an auction event: auction_id
with ranked as (
    select
        auction_id,
        winner,
        tmax_ms,
        source,
        placement,
        x_us(ts) as us,
        row_number() over (
            partition by auction_id
            order by
                x_us(ts), winner asc nulls last, tmax_ms asc nulls last, source asc nulls last,
                placement asc nulls last
        ) as rn
    from auctions
),

placed as (
    select
        *,
        min(case when winner is not null then rn end) over (partition by auction_id) as winner_rn,
        min(case when tmax_ms is not null then rn end) over (partition by auction_id) as tmax_rn,
        min(case when source is not null or placement is not null then rn end) over (partition by auction_id)
            as place_rn
    from ranked
)

select
    cast(auction_id as varchar) as auction_id,
    cast(max(case when rn = winner_rn then winner end) as varchar) as winner,
    cast(max(case when rn = winner_rn then us end) as bigint) as winner_us,
    cast(max(case when rn = tmax_rn then tmax_ms end) as double) as tmax_ms,
    cast(max(case when rn = place_rn then source end) as varchar) as source,
    cast(max(case when rn = place_rn then placement end) as varchar) as placement,
    cast(min(us) as bigint) as us
from placed
group by auction_id
