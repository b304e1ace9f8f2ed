-- Auctions that came within 1 s of three in a row of their source and placement that nobody bid on: one row per auction.
select
    auction_id,
    run,
    delay_ms
from audit_auction_rows
where hammering = 1
