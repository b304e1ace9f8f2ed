-- Sent attempts of one auction with the rules that each broke: one row per attempt, in the order of the calls.
--: needs auction
select
    make_timestamp(us) as ts,
    auction_id,
    partner,
    sent_no as retry_no,
    trigger_outcome as trigger,
    outcome,
    reason,
    latency_ms,
    left_ms,
    timeout_ms,
    list_filter([
        case when r1_harmful = 1 then 'R1 harmful' end,
        case when r1_waste = 1 then 'R1 waste' end,
        case when r2 = 1 then 'R2' end,
        case when r3 = 1 then 'R3' end,
        case when r4 = 1 then 'R4' end,
        case when r5 = 1 then 'R5' end,
        case when r6 = 1 then 'R6' end,
        case when r7 = 1 then 'R7' end,
        case when r8 = 1 then 'R8' end,
        case when r12 = 1 then 'R12' end
    ], lambda rule: rule is not null) as broken
from audit_attempts
where sent = 1
order by call_us, partner, position
