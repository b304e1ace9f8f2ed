-- one row per notice delivery, with its place among the deliveries of the same notice, and that notice's price
with resolved as (
    select
        notices.*,
        x_us(notices.ts) as us,
        coalesce(notices.partner, auction_heads.winner, only_bidders.partner) as unit_partner,
        coalesce(notices.partner, auction_heads.winner, only_bidders.partner, '') as partner_key,
        coalesce(notices.imp_id, '') as imp_key
    from notices
    left join auction_heads on notices.auction_id = auction_heads.auction_id
    left join only_bidders on notices.auction_id = only_bidders.auction_id
),

units as (
    select auction_id, imp_key, partner_key, kind, count(*) as deliveries
    from resolved
    group by auction_id, imp_key, partner_key, kind
),

sized as (
    select resolved.*, units.deliveries
    from resolved
    inner join units
        on resolved.auction_id = units.auction_id
            and resolved.imp_key = units.imp_key
            and resolved.partner_key = units.partner_key
            and resolved.kind = units.kind
),

ordered as (
    select
        *,
        row_number() over (
            partition by auction_id, imp_key, partner_key, kind
            order by
                us, price asc nulls last, currency asc nulls last, loss_reason asc nulls last,
                http_status asc nulls last, attempt asc nulls last, click_id asc nulls last
        ) as delivery
    from sized
    where deliveries > 1
),

numbered as (
    select
        *,
        min(case when price is not null then delivery end) over (
            partition by auction_id, imp_key, partner_key, kind
        ) as priced_delivery
    from ordered
),

priced as (
    select
        auction_id, kind, imp_id, unit_partner, loss_reason, click_id, delivery, us,
        max(case when delivery = priced_delivery then price end) over (
            partition by auction_id, imp_key, partner_key, kind
        ) as unit_price,
        max(case when delivery = priced_delivery then coalesce(currency, 'USD') end) over (
            partition by auction_id, imp_key, partner_key, kind
        ) as unit_currency
    from numbered
    union all
    select
        auction_id, kind, imp_id, unit_partner, loss_reason, click_id, 1 as delivery, us,
        price as unit_price,
        case when price is not null then coalesce(currency, 'USD') end as unit_currency
    from sized
    where deliveries = 1
)

select
    cast(auction_id as varchar) as auction_id,
    cast(kind as varchar) as kind,
    cast(imp_id as varchar) as imp_id,
    cast(unit_partner as varchar) as partner,
    cast(unit_currency as varchar) as currency,
    cast(loss_reason as varchar) as loss_reason,
    cast(click_id as varchar) as click_id,
    cast(unit_price as decimal(18, 6)) as price,
    cast(delivery as bigint) as delivery,
    cast(us as bigint) as us
from priced
