-- Notices of auctions in the order in which they came: one row per delivery. A notice without a partner goes to the
-- winner, else to the only partner that bid; `orphan` ones have no call.
select
    auction_id,
    ts,
    kind,
    partner,
    imp_id,
    price,
    currency,
    loss_reason,
    is_first = 0 as again,
    orphan = 1 as orphan,
    call_us,
    click_id
from deliveries
order by ts, kind, partner nulls last, imp_id nulls first, is_first desc, price, currency, loss_reason, click_id
