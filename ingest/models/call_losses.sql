-- one row per call with a notice that names why it lost: auction_id, partner, call_us
with named as (
    select
        placed_notices.auction_id,
        placed_notices.partner,
        notice_calls.call_us,
        placed_notices.loss_reason,
        row_number() over (
            partition by placed_notices.auction_id, placed_notices.partner, notice_calls.call_us
            order by
                placed_notices.us, placed_notices.loss_reason, placed_notices.kind,
                placed_notices.imp_id asc nulls last, placed_notices.delivery
        ) as rn
    from placed_notices
    inner join notice_calls
        on placed_notices.auction_id = notice_calls.auction_id
            and placed_notices.kind = notice_calls.kind
            and placed_notices.partner = notice_calls.partner
            and coalesce(placed_notices.imp_id, '') = coalesce(notice_calls.imp_id, '')
            and placed_notices.delivery = notice_calls.delivery
    where placed_notices.loss_reason is not null
)

select
    cast(auction_id as varchar) as auction_id,
    cast(partner as varchar) as partner,
    cast(call_us as bigint) as call_us,
    cast(loss_reason as varchar) as loss_reason
from named
where rn = 1
