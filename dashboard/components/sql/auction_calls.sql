-- Calls with what became of them: one row per call. `stage` is the deepest reached (0 considered, 1 sent, 2 answered,
-- 3 bid, 4 in auction, 5 won, 6 billed, 7 clicked), `reason` why it got no further.
select
    auction_id,
    partner,
    call_us,
    attempts_sent,
    not_sent,
    fate,
    stage,
    reason,
    hidden,
    uncounted
from audit_call_rows
order by call_us, partner
