-- one row per notice (its deliveries counted once): auction_id, imp_id, partner, kind
with units as (
    select
        auction_id,
        imp_id,
        partner,
        kind,
        min(first_us) as first_us,
        max(case when delivery = priced_delivery then price end) as price,
        max(case when delivery = priced_delivery then coalesce(currency, 'USD') end) as currency
    from placed_notices
    group by auction_id, imp_id, partner, kind
),

joined as (
    select
        units.auction_id,
        units.imp_id,
        units.partner,
        units.kind,
        max(call_starts.call_us) as call_us
    from units
    inner join call_starts
        on units.auction_id = call_starts.auction_id and units.partner = call_starts.partner
    cross join settings
    where
        call_starts.call_us >= units.first_us - settings.notice_us
        and call_starts.call_us <= units.first_us + 60000000
    group by units.auction_id, units.imp_id, units.partner, units.kind
)

select
    cast(units.auction_id as varchar) as auction_id,
    cast(units.imp_id as varchar) as imp_id,
    cast(units.partner as varchar) as partner,
    cast(units.kind as varchar) as kind,
    cast(units.currency as varchar) as currency,
    cast(units.price as decimal(18, 6)) as price,
    cast(joined.call_us as bigint) as call_us
from units
left join joined
    on units.auction_id = joined.auction_id
        and units.kind = joined.kind
        and units.partner = joined.partner
        and coalesce(units.imp_id, '') = coalesce(joined.imp_id, '')
