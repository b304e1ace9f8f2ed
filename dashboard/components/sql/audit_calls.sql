-- Calls with how often each rule was broken in them: one row per call, placed by its first attempt.
select
    make_timestamp(call_us) as ts,
    auction_id,
    partner,
    attempts_sent,
    retries,
    fate,
    r1_harmful,
    r1_waste,
    r2,
    r3,
    r4,
    r5,
    r6,
    r7,
    r8,
    r12,
    call_us
from audit_call_rows
