-- one row per notice delivery, with what its notice came to
with joined as (
    select
        placed_notices.*,
        notice_units.currency as unit_currency,
        notice_units.price as unit_price,
        notice_units.call_us
    from placed_notices
    inner join notice_units
        on placed_notices.auction_id = notice_units.auction_id
            and placed_notices.kind = notice_units.kind
            and coalesce(placed_notices.partner, '') = coalesce(notice_units.partner, '')
            and coalesce(placed_notices.imp_id, '') = coalesce(notice_units.imp_id, '')
)

select
    cast(joined.auction_id as varchar) as auction_id,
    cast(joined.kind as varchar) as kind,
    cast(joined.imp_id as varchar) as imp_id,
    cast(joined.partner as varchar) as partner,
    cast(joined.unit_currency as varchar) as currency,
    cast(joined.loss_reason as varchar) as loss_reason,
    cast(joined.click_id as varchar) as click_id,
    cast(calls.last_bid_trigger as varchar) as last_bid_trigger,
    cast(calls.last_bid_retry_no as bigint) as last_bid_retry_no,
    cast(case when joined.delivery = 1 then 1 else 0 end as bigint) as is_first,
    cast(case when joined.call_us is null then 1 else 0 end as bigint) as orphan,
    cast(joined.unit_price as decimal(18, 6)) as price,
    cast(joined.call_us as bigint) as call_us,
    cast(joined.us as bigint) as us,
    cast(x_idiv(joined.us, 3600000000) * 3600000000 as bigint) as hour_us,
    x_ts(joined.us) as ts
from joined
left join calls
    on joined.auction_id = calls.auction_id
        and joined.partner = calls.partner
        and joined.call_us = calls.call_us
