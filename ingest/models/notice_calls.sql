-- one row per notice delivery that belongs to a call: auction_id, imp_id, partner, kind, delivery
select
    cast(placed_notices.auction_id as varchar) as auction_id,
    cast(placed_notices.imp_id as varchar) as imp_id,
    cast(placed_notices.partner as varchar) as partner,
    cast(placed_notices.kind as varchar) as kind,
    cast(placed_notices.delivery as bigint) as delivery,
    cast(max(call_starts.call_us) as bigint) as call_us
from placed_notices
inner join call_starts
    on placed_notices.auction_id = call_starts.auction_id and placed_notices.partner = call_starts.partner
cross join settings
where
    call_starts.call_us >= placed_notices.us - settings.notice_us
    and call_starts.call_us <= placed_notices.us + 60000000
group by
    placed_notices.auction_id,
    placed_notices.imp_id,
    placed_notices.partner,
    placed_notices.kind,
    placed_notices.delivery
