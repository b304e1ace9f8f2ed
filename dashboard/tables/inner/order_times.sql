-- Time from an order's first postback to its acceptance, of orders accepted after a retry: one row per step of time.
with steps as (
    select
        position,
        from_s,
        lead(from_s) over (order by position) as to_s
    from (
        select
            unnest([0, 1, 5, 15, 60, 300, 1800, 7200, 86400]::bigint[]) as from_s,
            unnest(range(1, 10)) as position
    )
),

times as (
    select accepted_us - call_us as us
    from order_verdicts
    where state = 'accepted_after_retry'
)

select
    steps.position,
    steps.from_s,
    steps.to_s,
    count(times.us)::bigint as orders
from steps
left join times on times.us >= steps.from_s * 1000000 and (times.us < steps.to_s * 1000000 or steps.to_s is null)
group by all
order by steps.position
