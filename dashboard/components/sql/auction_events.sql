-- Auctions as the exchange told of them: one row per auction event.
select
    auction_id,
    ts,
    source,
    placement,
    tmax_ms,
    imps,
    http_status,
    latency_ms,
    winner,
    price,
    currency
from auctions
order by all
