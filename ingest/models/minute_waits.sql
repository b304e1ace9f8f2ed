-- one row per minute, call_minute, stream, key, endpoint, open_until_us (429s, with what came of their Retry-After);
-- call_minute is when the call or order began, open_until_us when it is sure that none came back, where none did yet
with timed as (
    select
        throttles.*,
        -- a time to wait beyond a thousand million seconds is as good as that
        cast(
            floor(case when retry_after_s > 1000000000.0 then 1000000000.0 else retry_after_s end * 1000000.0 + 0.5)
            as bigint
        ) as wait_us
    from throttles
),

judged as (
    select
        timed.*,
        ends_us + wait_us - 1000000 as early_us,
        ends_us + greatest(2 * wait_us, wait_us + 1000000) as late_us
    from timed
)

select
    cast(x_idiv(us, 60000000) * 60000000 as bigint) as minute_us,
    cast(x_idiv(call_us, 60000000) * 60000000 as bigint) as call_minute_us,
    cast(stream as varchar) as stream,
    cast(key as varchar) as key,
    cast(endpoint as varchar) as endpoint,
    cast(case when next_us is null then late_us end as bigint) as open_until_us,
    cast(count(*) as bigint) as limited,
    cast(count(wait_us) as bigint) as told,
    cast(sum(case when next_us < early_us then 1 else 0 end) as bigint) as early,
    cast(sum(case when next_us >= early_us and next_us <= late_us then 1 else 0 end) as bigint) as on_time,
    cast(sum(case when next_us >= early_us and next_us > late_us then 1 else 0 end) as bigint) as late
from judged
group by
    x_idiv(us, 60000000),
    x_idiv(call_us, 60000000),
    stream,
    key,
    endpoint,
    case when next_us is null then late_us end
