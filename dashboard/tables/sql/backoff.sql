-- How senders wait before they try again: one row per stream and key. The delays of each retry number, boiled down to
-- 64 of them at even ranks, and how many retries share a millisecond or begin a second or minute.
--: step backoff
with ranked as (
    select
        stream,
        key,
        retry_no,
        count(*) as delays,
        list(delay_ms order by delay_ms) as waits_ms
    from backoff_delays
    group by all
    having count(*) <= 64
    union all
    select
        stream,
        key,
        retry_no,
        count(*) as delays,
        quantile_disc(delay_ms, [(place + 0.5) / 64 for place in range(64)]) as waits_ms
    from backoff_delays
    group by all
    having count(*) > 64
),

-- of senders with very many retries, those of some seconds will do, whole seconds chosen blindly
looked_at as (
    select waits.stream, waits.key, waits.us, waits.origin
    from backoff_delays as waits
    inner join (
        select stream, key, ceil(count(*) / 20000)::ubigint as lot
        from backoff_delays
        group by all
    ) as lots on waits.stream = lots.stream and waits.key is not distinct from lots.key
    where hash(x_idiv(us, 1000000)) % lot = 0
),

moments as (
    select stream, key, x_idiv(us, 1000) as ms, count(distinct origin) as origins
    from looked_at
    group by all
),

full_seconds as (
    select stream, key, x_idiv(ms, 1000) as second, sum(origins) as within
    from moments
    group by all
),

crowds as (
    select
        stream,
        key,
        sum(origins) as origins,
        -- five at least, and more than their second lets one expect
        coalesce(sum(case when origins >= 5 + others + 4 * sqrt(others) then origins end), 0) as crowded
    from (
        select moments.stream, moments.key, origins, (within - origins) / 1000 as others
        from moments
        inner join full_seconds
            on moments.stream = full_seconds.stream
                and moments.key is not distinct from full_seconds.key
                and x_idiv(moments.ms, 1000) = full_seconds.second
    )
    group by all
),

firsts as (
    select stream, key, origin, min(us) as us
    from looked_at
    group by all
),

-- a second, and a minute, has one voice, so that a burst proves nothing
seconds as (
    select stream, key, count(*) as seconds, count(*) filter (us % 1000000 < 50000) as second_edges
    from (
        select stream, key, arg_min(us, origin) as us
        from firsts
        group by stream, key, x_idiv(us, 1000000)
    )
    group by all
),

minutes as (
    select stream, key, count(*) as minutes, count(*) filter (us % 60000000 < 1000000) as minute_edges
    from (
        select stream, key, arg_min(us, origin) as us
        from firsts
        group by stream, key, x_idiv(us, 60000000)
    )
    group by all
),

clocks as (
    select
        stream,
        key,
        case
            when bool_and(us % 1000000 = 0 and call_us % 1000000 = 0) then 1000.0
            when bool_and(us % 1000 = 0 and call_us % 1000 = 0) then 1.0
            else 0.001
        end::double as resolution_ms
    from backoff_delays
    group by all
)

select
    ranked.stream,
    ranked.key,
    sum(delays)::bigint as delays,
    list({'retry_no': retry_no, 'delays': delays, 'waits_ms': waits_ms} order by retry_no) as by_retry_no,
    any_value(resolution_ms) as resolution_ms,
    coalesce(any_value(origins), 0)::bigint as origins,
    coalesce(any_value(crowded), 0)::bigint as crowded,
    coalesce(any_value(seconds), 0) as seconds,
    coalesce(any_value(second_edges), 0) as second_edges,
    coalesce(any_value(minutes), 0) as minutes,
    coalesce(any_value(minute_edges), 0) as minute_edges,
    any_value(whole) as whole
from ranked
cross join kept_facts
left join crowds on ranked.stream = crowds.stream and ranked.key is not distinct from crowds.key
left join seconds on ranked.stream = seconds.stream and ranked.key is not distinct from seconds.key
left join minutes on ranked.stream = minutes.stream and ranked.key is not distinct from minutes.key
inner join clocks on ranked.stream = clocks.stream and ranked.key is not distinct from clocks.key
group by ranked.stream, ranked.key
order by ranked.stream, ranked.key
