-- Retries that did not succeed, and the time they took: one row per stream. The time is the sum of the known latencies.
select
    stream,
    count(*)::bigint as retries,
    count(*) filter (success = 0)::bigint as wasted,
    (sum(latency_ms::decimal(18, 3)) filter (success = 0))::double as wasted_ms
from retry_rows
group by stream
order by stream
