-- How long after a 429 the next request came, as a share of the Retry-After it carried: one row per step of that share.
-- What had to wait 0 s has no share.
with steps as (
    select
        position,
        from_share,
        lead(from_share) over (order by position) as to_share
    from (
        select
            unnest([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 5, 10]::double[]) as from_share,
            unnest(range(1, 12)) as position
    )
),

delays as (
    select
        verdict,
        (next_us - ends_us) / wait_us as share
    from throttle_verdicts
    where wait_us > 0 and next_us is not null
)

select
    steps.position,
    steps.from_share,
    steps.to_share,
    count(delays.share) filter (verdict = 'early')::bigint as early,
    count(delays.share) filter (verdict = 'on_time')::bigint as on_time,
    count(delays.share) filter (verdict = 'late')::bigint as late
from steps
left join delays on delays.share >= steps.from_share and (delays.share < steps.to_share or steps.to_share is null)
group by all
order by steps.position
