-- Auctions that follow an empty one of their source and placement: one row per auction. `run` is how many empty ones
-- lie right before it, `delay_ms` the time since the last of them.
select
    make_timestamp(us) as ts,
    auction_id,
    source,
    placement,
    run,
    delay_ms,
    hammering
from audit_auction_rows
