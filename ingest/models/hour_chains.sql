-- one row per hour, partner, trigger, trigger_bit, before_bits, retry_no, feasible, unfit_before, currency
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(currency as varchar) as currency,
    cast(trigger_bit as bigint) as trigger_bit,
    cast(before_bits as bigint) as before_bits,
    cast(retry_no as bigint) as retry_no,
    cast(feasible as bigint) as feasible,
    cast(unfit_before as bigint) as unfit_before,
    cast(sum(retries) as bigint) as retries,
    cast(sum(first_answers) as bigint) as first_answers,
    cast(sum(first_bids) as bigint) as first_bids,
    cast(sum(first_judged) as bigint) as first_judged,
    cast(sum(wins) as bigint) as wins,
    cast(sum(late_retries) as bigint) as late_retries,
    cast(sum(late_checked) as bigint) as late_checked,
    cast(sum(latency_ms) as decimal(38, 3)) as latency_ms,
    cast(sum(price) as decimal(38, 6)) as price
from minute_chains
group by
    x_idiv(minute_us, 3600000000), partner, trigger, currency, trigger_bit, before_bits, retry_no, feasible,
    unfit_before
