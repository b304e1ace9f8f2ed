-- Signed requests: one row per key, with the skew between a sender's clock and ours. What the log has no column for is
-- unknown, and so is all but their number where some of the range's postbacks are not kept.
with known as (
    select
        stale_known and whole as stale_known,
        replayed_known and whole as replayed_known,
        whole
    from signature_evidence
    cross join kept_facts
),

received as (
    select
        key_id,
        sum(postbacks)::bigint as requests
    from range_postbacks
    group by key_id
    having sum(postbacks) > 0
),

signed as (
    select
        key_id,
        error_code,
        abs(x_us(ts) - x_us(x_timestamp)) as skew_us
    from postback_rows
),

counted as (
    select
        key_id,
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
    received.key_id as key,
    received.requests,
    case when stale_known then counted.stale end as stale,
    case when replayed_known then counted.replayed + coalesce(repeated.replayed, 0) end as replayed,
    case when whole then skews_us[1]::double / 1000000 end as skew_p50_s,
    case when whole then skews_us[2]::double / 1000000 end as skew_p99_s
from received
cross join known
left join counted on received.key_id is not distinct from counted.key_id
left join repeated on received.key_id is not distinct from repeated.key_id
order by received.key_id
