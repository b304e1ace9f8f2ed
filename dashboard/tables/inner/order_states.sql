-- Orders of the range by what became of them: one row per state (NULL: unknown). The time to accept is that of orders accepted after a
-- retry; retries beyond a day came more than 24 h after an order's first postback.
select
    state,
    count(*)::bigint as orders,
    sum(requests)::bigint as requests,
    case when sum(untold) = 0 then sum(duplicates) end::bigint as duplicates,
    count(*) filter (beyond_day > 0)::bigint as orders_beyond_day,
    coalesce(sum(beyond_day), 0)::bigint as retries_beyond_day,
    quantile_disc(accepted_us - call_us, 0.5) filter (state = 'accepted_after_retry')::double / 1000000
        as accept_p50_s,
    quantile_disc(accepted_us - call_us, 0.95) filter (state = 'accepted_after_retry')::double / 1000000
        as accept_p95_s
from order_verdicts
group by state
order by
    list_position(['lost', 'pending', 'accepted_earlier', 'accepted_after_retry', 'accepted_first'], state)
