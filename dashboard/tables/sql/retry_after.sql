-- Whether senders wait as they are told: one row per stream, key (the partner of an exchange's attempts) and endpoint
-- with a 429, or a request inside a time to wait.
with requests as (
    select
        stream,
        key,
        endpoint,
        1 as limited,
        retry_after_s is not null as told,
        verdict,
        0 as wasted
    from throttle_verdicts
    union all
    select
        stream,
        key,
        endpoint,
        0 as limited,
        false as told,
        null as verdict,
        1 as wasted
    from wasted_rows
)

select
    stream,
    key,
    endpoint,
    sum(limited)::bigint as limited,
    count(*) filter (told)::bigint as with_retry_after,
    count(*) filter (verdict = 'early')::bigint as early,
    count(*) filter (verdict = 'on_time')::bigint as on_time,
    count(*) filter (verdict = 'late')::bigint as late,
    count(*) filter (verdict = 'never')::bigint as never,
    count(*) filter (verdict = 'pending')::bigint as pending,
    sum(wasted)::bigint as wasted
from requests
group by stream, key, endpoint
order by stream, key, endpoint nulls first
