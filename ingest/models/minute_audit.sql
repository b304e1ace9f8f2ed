-- one row per minute, stream, partner, rule, severity (a call or an order lies at its first, an auction at its own time)
with judged as (
    select
        x_idiv(call_us, 60000000) * 60000000 as minute_us,
        'exchange' as stream,
        partner,
        sum(retries_checked) as retries_checked,
        sum(r1_harmful) as r1_harmful,
        sum(r1_waste) as r1_waste,
        sum(r2) as r2,
        sum(r3) as r3,
        sum(r4) as r4,
        sum(r5) as r5,
        sum(r5_checked) as r5_checked,
        sum(r6) as r6,
        sum(r6_checked) as r6_checked,
        sum(r7) as r7,
        sum(r7_checked) as r7_checked,
        sum(r8) as r8,
        sum(r12) as r12,
        sum(r12_checked) as r12_checked
    from calls
    group by x_idiv(call_us, 60000000), partner
),

ordered as (
    select
        x_idiv(call_us, 60000000) * 60000000 as minute_us,
        'postback' as stream,
        partner,
        sum(retries_checked) as retries_checked,
        sum(r4) as r4,
        sum(r8) as r8,
        sum(r9) as r9,
        sum(r11) as r11,
        sum(r11_checked) as r11_checked
    from orders
    group by x_idiv(call_us, 60000000), partner
),

hammered as (
    select
        x_idiv(us, 60000000) * 60000000 as minute_us,
        sum(hammering) as r9,
        count(hammering) as r9_checked
    from repeats
    group by x_idiv(us, 60000000)
),

units as (
    select minute_us, stream, partner, 'R1' as rule, 'harmful' as severity, r1_harmful as violations,
        retries_checked as checked
    from judged
    union all
    select minute_us, stream, partner, 'R1', 'waste', r1_waste, retries_checked from judged
    union all
    select minute_us, stream, partner, 'R2', 'risk', r2, retries_checked from judged
    union all
    select minute_us, stream, partner, 'R3', 'waste', r3, retries_checked from judged
    union all
    select minute_us, stream, partner, 'R4', 'waste', r4, retries_checked from judged
    union all
    select minute_us, stream, partner, 'R5', 'late', r5, r5_checked from judged
    union all
    select minute_us, stream, partner, 'R6', 'duplicate', r6, r6_checked from judged
    union all
    select minute_us, stream, partner, 'R7', 'load', r7, r7_checked from judged
    union all
    select minute_us, stream, partner, 'R8', 'waste', r8, retries_checked from judged
    union all
    select minute_us, stream, partner, 'R12', 'late', r12, r12_checked from judged
    union all
    select minute_us, stream, partner, 'R4', 'waste', r4, retries_checked from ordered
    union all
    select minute_us, stream, partner, 'R8', 'waste', r8, retries_checked from ordered
    union all
    select minute_us, stream, partner, 'R9', 'load', r9, retries_checked from ordered
    union all
    select minute_us, stream, partner, 'R11', 'waste', r11, r11_checked from ordered
    union all
    select minute_us, 'exchange', cast(null as varchar), 'R9', 'load', r9, r9_checked from hammered
)

select
    cast(minute_us as bigint) as minute_us,
    cast(stream as varchar) as stream,
    cast(partner as varchar) as partner,
    cast(rule as varchar) as rule,
    cast(severity as varchar) as severity,
    cast(coalesce(violations, 0) as bigint) as violations,
    cast(checked as bigint) as checked
from units
where checked > 0
