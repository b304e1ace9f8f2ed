-- one row per retry that was not cancelled, of calls that show all attempts: auction_id, partner, call_us, retry_no
select
    cast(auction_id as varchar) as auction_id,
    cast(partner as varchar) as partner,
    cast(trigger_outcome as varchar) as trigger,
    cast(outcome as varchar) as outcome,
    cast(region as varchar) as region,
    cast(sent_no as bigint) as retry_no,
    cast(case when rnk > trigger_rnk then 1 else 0 end as bigint) as success,
    cast(case when outcome = 'bid' then 1 else 0 end as bigint) as bid,
    cast(told as bigint) as told,
    cast(r5 as bigint) as infeasible,
    cast(late as bigint) as late,
    cast(left_ms as double) as left_ms,
    cast(delay_ms as double) as delay_ms,
    cast(latency_ms as double) as latency_ms,
    cast(us as bigint) as us,
    cast(call_us as bigint) as call_us,
    cast(x_idiv(call_us, 3600000000) * 3600000000 as bigint) as hour_us
from call_attempts
where hidden = 0 and sent_no > 0 and outcome <> 'cancelled'
