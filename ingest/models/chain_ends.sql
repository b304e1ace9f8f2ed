-- one row per call whose last sent attempt failed, with what its retries repeated: auction_id, partner, call_us
-- (of calls that show all attempts)
with tried as (
    select
        auction_id,
        partner,
        call_us,
        bit_or(trigger_bit) as before_bits,
        max(case when feasible = 0 then 1 else 0 end) as unfit_before
    from chain_steps
    where step = 1
    group by auction_id, partner, call_us
),

failed as (
    select
        *,
        case
            when left_ms - latency_ms < timeout_ms then 0
            when left_ms - latency_ms >= timeout_ms then 1
        end as feasible
    from call_attempts
    where hidden = 0 and is_last_sent = 1 and grp = 'failure'
)

select
    cast(failed.auction_id as varchar) as auction_id,
    cast(failed.partner as varchar) as partner,
    cast(failed.outcome as varchar) as trigger,
    cast(coalesce(tried.before_bits, 0) as bigint) as before_bits,
    cast(failed.sent_no as bigint) as retries,
    cast(failed.feasible as bigint) as feasible,
    cast(coalesce(tried.unfit_before, 0) as bigint) as unfit_before,
    cast(failed.call_us as bigint) as call_us,
    cast(x_idiv(failed.call_us, 3600000000) * 3600000000 as bigint) as hour_us
from failed
left join tried
    on failed.auction_id = tried.auction_id
        and failed.partner = tried.partner
        and failed.call_us = tried.call_us
