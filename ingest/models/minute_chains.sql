-- one row per minute, partner, trigger (trigger_bit), before_bits, retry_no, feasible, unfit_before, currency (by call)
select
    cast(x_idiv(call_us, 60000000) * 60000000 as bigint) as minute_us,
    cast(partner as varchar) as partner,
    cast(trigger as varchar) as trigger,
    cast(currency as varchar) as currency,
    cast(trigger_bit as bigint) as trigger_bit,
    cast(before_bits as bigint) as before_bits,
    cast(retry_no as bigint) as retry_no,
    cast(feasible as bigint) as feasible,
    cast(unfit_before as bigint) as unfit_before,
    cast(sum(step) as bigint) as retries,
    cast(sum(first_answer) as bigint) as first_answers,
    cast(sum(first_bid) as bigint) as first_bids,
    cast(sum(first_judged) as bigint) as first_judged,
    cast(sum(won) as bigint) as wins,
    cast(sum(case when late = 1 then 1 else 0 end) as bigint) as late_retries,
    cast(sum(case when late is not null then 1 else 0 end) as bigint) as late_checked,
    cast(sum(cast(latency_ms as decimal(18, 3))) as decimal(38, 3)) as latency_ms,
    cast(sum(price) as decimal(38, 6)) as price
from chain_steps
group by
    x_idiv(call_us, 60000000), partner, trigger, currency, trigger_bit, before_bits, retry_no, feasible, unfit_before
