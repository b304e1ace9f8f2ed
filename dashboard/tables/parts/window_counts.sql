-- requests of each key and endpoint by fixed window
with keyed as (
    select
        key,
        endpoint,
        case when window_s > 0 then window_s end as own_s,
        "limit",
        outcome,
        x_us(ts) as us,
        mine
    from window_requests
),

sized as (
    select
        keyed.*,
        coalesce(keyed.own_s, widths.window_s, 60) as length_s
    from keyed
    left join window_widths as widths
        on keyed.own_s is null
            and keyed.key is not distinct from widths.key
            and keyed.endpoint is not distinct from widths.endpoint
),

placed as (
    select
        *,
        -- longer than all time is one window
        least(length_s, 9000000000000) * 1000000 as length_us,
        x_idiv(us, length_us) * length_us as window_us
    from sized
),

counted as (
    select
        key,
        endpoint,
        window_us,
        length_s as window_s,
        count(*)::bigint as requests,
        case
            when count(*) filter (outcome = 'answered_unknown') = 0 then count(*) filter (outcome = 'rate_limited')
        end::bigint as limited,
        max("limit") as logged_limit,
        bool_or(mine) as mine
    from placed
    group by all
)

select
    *,
    case
        when logged_limit is not null then logged_limit
        when contains(endpoint, 'exchange') then 20
        when contains(endpoint, '/r/') or contains(endpoint, '/p/') then null
        else 600
    end::bigint as allowed
from counted
