-- Whether senders wait as they are told: one row per stream, key (the partner of an exchange's attempts) and endpoint
-- with a 429, or a request inside a time to wait.
with counted as (
    select
        stream,
        key,
        endpoint,
        limited,
        told,
        early,
        on_time,
        late,
        case when open_until_us < newest_us then limited else 0 end as never,
        case when open_until_us >= newest_us then limited else 0 end as pending,
        0 as wasted
    from range_waits
    inner join streams using (stream)
    union all by name
    select
        stream,
        key,
        endpoint,
        wasted
    from range_wasted
)

select
    stream,
    key,
    endpoint,
    coalesce(sum(limited), 0)::bigint as limited,
    coalesce(sum(told), 0)::bigint as with_retry_after,
    coalesce(sum(early), 0)::bigint as early,
    coalesce(sum(on_time), 0)::bigint as on_time,
    coalesce(sum(late), 0)::bigint as late,
    coalesce(sum(never), 0)::bigint as never,
    coalesce(sum(pending), 0)::bigint as pending,
    sum(wasted)::bigint as wasted
from counted
group by stream, key, endpoint
order by stream, key, endpoint nulls first
