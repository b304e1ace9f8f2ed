-- one row per notice delivery, with the call that it belongs to and what its notice is worth
select
    cast(placed_notices.auction_id as varchar) as auction_id,
    cast(placed_notices.kind as varchar) as kind,
    cast(placed_notices.imp_id as varchar) as imp_id,
    cast(placed_notices.partner as varchar) as partner,
    cast(placed_notices.currency as varchar) as currency,
    cast(placed_notices.loss_reason as varchar) as loss_reason,
    cast(placed_notices.click_id as varchar) as click_id,
    cast(calls.last_bid_trigger as varchar) as last_bid_trigger,
    cast(calls.last_bid_retry_no as bigint) as last_bid_retry_no,
    cast(case when placed_notices.delivery = 1 then 1 else 0 end as bigint) as is_first,
    cast(case when notice_calls.call_us is null then 1 else 0 end as bigint) as orphan,
    cast(placed_notices.price as decimal(18, 6)) as price,
    cast(notice_calls.call_us as bigint) as call_us,
    cast(placed_notices.us as bigint) as us,
    cast(x_idiv(placed_notices.us, 3600000000) * 3600000000 as bigint) as hour_us,
    x_ts(placed_notices.us) as ts
from placed_notices
left join notice_calls
    on placed_notices.auction_id = notice_calls.auction_id
        and placed_notices.kind = notice_calls.kind
        and placed_notices.partner = notice_calls.partner
        and coalesce(placed_notices.imp_id, '') = coalesce(notice_calls.imp_id, '')
        and placed_notices.delivery = notice_calls.delivery
left join calls
    on placed_notices.auction_id = calls.auction_id
        and placed_notices.partner = calls.partner
        and notice_calls.call_us = calls.call_us
