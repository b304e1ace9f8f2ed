-- one row per notice delivery, with its place among the deliveries of the same notice, and that notice's price
with resolved as (
    select
        notices.*,
        x_us(notices.ts) as us,
        coalesce(notices.partner, auction_heads.winner, only_bidders.partner) as unit_partner
    from notices
    left join auction_heads on notices.auction_id = auction_heads.auction_id
    left join only_bidders on notices.auction_id = only_bidders.auction_id
),

ordered as (
    select
        *,
        row_number() over (
            partition by auction_id, imp_id, unit_partner, kind
            order by
                us, price asc nulls last, currency asc nulls last, loss_reason asc nulls last,
                http_status asc nulls last, attempt asc nulls last, click_id asc nulls last
        ) as delivery
    from resolved
),

numbered as (
    select
        *,
        min(case when price is not null then delivery end) over (
            partition by auction_id, imp_id, unit_partner, kind
        ) as priced_delivery
    from ordered
),

priced as (
    select
        *,
        max(case when delivery = priced_delivery then price end) over (
            partition by auction_id, imp_id, unit_partner, kind
        ) as unit_price,
        max(case when delivery = priced_delivery then coalesce(currency, 'USD') end) over (
            partition by auction_id, imp_id, unit_partner, kind
        ) as unit_currency
    from numbered
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
