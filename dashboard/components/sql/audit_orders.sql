-- Orders with how often each rule was broken in them: one row per order, placed by its first postback.
select
    make_timestamp(call_us) as ts,
    tenant,
    event_type,
    external_order_id,
    partner,
    requests,
    retries,
    fate,
    r4,
    r8,
    r9,
    r11,
    call_us
from order_rows
