-- one row per call: auction_id, partner, call_us (the instant of its first attempt); alone = it has one attempt
with recursive spans as (
    select
        auction_id,
        partner,
        min(x_us(ts)) as first_us,
        max(x_us(ts)) as last_us,
        count(*) as attempts
    from attempts
    group by auction_id, partner
),

reused as (
    select spans.*
    from spans
    cross join settings
    where spans.last_us - spans.first_us > settings.call_span_us
),

stamps as (
    select distinct
        attempts.auction_id,
        attempts.partner,
        x_us(attempts.ts) as us
    from attempts
    inner join reused
        on attempts.auction_id = reused.auction_id and attempts.partner = reused.partner
),

chained as (
    select auction_id, partner, first_us as call_us
    from reused
    union all
    select chained.auction_id, chained.partner, min(stamps.us) as call_us
    from chained
    inner join stamps
        on chained.auction_id = stamps.auction_id and chained.partner = stamps.partner
    cross join settings
    where stamps.us > chained.call_us + settings.call_span_us
    group by chained.auction_id, chained.partner
),

plain as (
    select
        spans.auction_id,
        spans.partner,
        spans.first_us as call_us,
        case when spans.attempts = 1 then 1 else 0 end as alone
    from spans
    cross join settings
    where spans.last_us - spans.first_us <= settings.call_span_us
),

starts as (
    select auction_id, partner, call_us, alone from plain
    union all
    select auction_id, partner, call_us, 0 as alone from chained
)

select
    cast(auction_id as varchar) as auction_id,
    cast(partner as varchar) as partner,
    cast(call_us as bigint) as call_us,
    cast(alone as bigint) as alone
from starts
