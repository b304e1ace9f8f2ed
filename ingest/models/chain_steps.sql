-- one row per sent retry (cancelled too) and per currency of a win it brought: auction_id, partner, call_us, retry_no
-- (of calls that show all attempts)
with sent_attempts as (
    select
        *,
        case trigger_outcome
            when 'connect_error' then 1
            when 'tls_error' then 2
            when 'timeout' then 4
            when 'cancelled' then 8
            when 'reset' then 16
            when 'rate_limited' then 32
            when 'server_error' then 64
            when 'client_error' then 128
            when 'unexpected_status' then 256
            when 'unknown_error' then 512
            when 'invalid_response' then 1024
            when 'bid' then 2048
            when 'no_bid' then 4096
            when 'answered_unknown' then 8192
            else 0
        end as trigger_bit,
        case
            when left_ms < timeout_ms then 0
            when left_ms >= timeout_ms then 1
        end as feasible
    from call_attempts
    where alone = 0 and hidden = 0 and sent = 1
),

chained as (
    select
        *,
        bit_or(trigger_bit) over (
            partition by auction_id, partner, call_us order by position
            rows between unbounded preceding and 1 preceding
        ) as before_bits,
        max(case when sent_no > 0 and feasible = 0 then 1 else 0 end) over (
            partition by auction_id, partner, call_us order by position
            rows between unbounded preceding and 1 preceding
        ) as unfit_before,
        min(case when answered = 1 then sent_no end) over (partition by auction_id, partner, call_us) as answer_no,
        min(case when outcome = 'bid' then sent_no end) over (partition by auction_id, partner, call_us) as bid_no,
        min(case when outcome <> 'cancelled' then sent_no end) over (partition by auction_id, partner, call_us)
            as judged_no
    from sent_attempts
),

retried as (
    select
        chained.*,
        coalesce(bid_no, answer_no) as win_no,
        case when calls.stage >= 5 then 1 else 0 end as call_won
    from chained
    inner join calls
        on chained.auction_id = calls.auction_id
            and chained.partner = calls.partner
            and chained.call_us = calls.call_us
    where chained.sent_no > 0
),

money as (
    select auction_id, partner, call_us, currency, sum(price) as price
    from deliveries
    where kind = 'win' and is_first = 1 and call_us is not null and currency is not null
    group by auction_id, partner, call_us, currency
),

steps as (
    select
        auction_id, partner, call_us, us, trigger_outcome, trigger_bit, before_bits, unfit_before, feasible, sent_no,
        1 as step,
        answered,
        case when outcome <> 'cancelled' then late end as late,
        case when sent_no = answer_no then 1 else 0 end as first_answer,
        case when sent_no = bid_no then 1 else 0 end as first_bid,
        case when sent_no = judged_no then 1 else 0 end as first_judged,
        case when sent_no = win_no then call_won else 0 end as won,
        latency_ms,
        cast(null as varchar) as currency,
        cast(null as decimal(38, 6)) as price
    from retried
    union all
    select
        retried.auction_id, retried.partner, retried.call_us, retried.us, retried.trigger_outcome,
        retried.trigger_bit, retried.before_bits, retried.unfit_before, retried.feasible, retried.sent_no,
        0 as step,
        0 as answered,
        cast(null as bigint) as late,
        0 as first_answer,
        0 as first_bid,
        0 as first_judged,
        0 as won,
        cast(null as double) as latency_ms,
        money.currency,
        money.price
    from retried
    inner join money
        on retried.auction_id = money.auction_id
            and retried.partner = money.partner
            and retried.call_us = money.call_us
    where retried.sent_no = retried.win_no
)

select
    cast(auction_id as varchar) as auction_id,
    cast(partner as varchar) as partner,
    cast(trigger_outcome as varchar) as trigger,
    cast(currency as varchar) as currency,
    cast(trigger_bit as bigint) as trigger_bit,
    cast(before_bits as bigint) as before_bits,
    cast(sent_no as bigint) as retry_no,
    cast(feasible as bigint) as feasible,
    cast(unfit_before as bigint) as unfit_before,
    cast(step as bigint) as step,
    cast(answered as bigint) as answered,
    cast(late as bigint) as late,
    cast(first_answer as bigint) as first_answer,
    cast(first_bid as bigint) as first_bid,
    cast(first_judged as bigint) as first_judged,
    cast(won as bigint) as won,
    cast(price as decimal(38, 6)) as price,
    cast(latency_ms as double) as latency_ms,
    cast(us as bigint) as us,
    cast(call_us as bigint) as call_us,
    cast(x_idiv(call_us, 3600000000) * 3600000000 as bigint) as hour_us
from steps
