-- Signed requests: one row per key, with the skew between a sender's clock and ours. What the log has no column for is
-- unknown.
with signed as (
    select
        key_id,
        error_code,
        abs(x_us(ts) - x_us(x_timestamp)) as skew_us
    from postback_rows
),

counted as (
    select
        key_id,
        count(*)::bigint as requests,
        count(*) filter (skew_us > 300000000 or error_code = 'POSTBACK_STALE_TIMESTAMP')::bigint as stale,
        count(*) filter (error_code = 'POSTBACK_REPLAY')::bigint as replayed,
        quantile_disc(skew_us, [0.5, 0.99]) as skews_us
    from signed
    group by key_id
),

repeated as (
    select
        key_id,
        count(*)::bigint as replayed
    from replay_rows
    group by key_id
)

select
    counted.key_id as key,
    counted.requests,
    case when stale_known then counted.stale end as stale,
    case when replayed_known then counted.replayed + coalesce(repeated.replayed, 0) end as replayed,
    skews_us[1]::double / 1000000 as skew_p50_s,
    skews_us[2]::double / 1000000 as skew_p99_s
from counted
cross join signature_evidence
left join repeated using (key_id)
order by counted.key_id
