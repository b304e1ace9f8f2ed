-- requests of each key and endpoint by fixed window
with sized as (
    select
        pieces.*,
        coalesce(own_length, widths.window_s, 60) as length_s
    from window_requests as pieces
    left join window_widths as widths
        on pieces.own_length is null
            and pieces.key is not distinct from widths.key
            and pieces.endpoint is not distinct from widths.endpoint
),

placed as (
    select
        * exclude (window_us),
        -- longer than all time is one window
        least(length_s, 9000000000000) * 1000000 as length_us,
        case when own_length is null then x_idiv(window_us, length_us) * length_us else window_us end as window_us
    from sized
),

counted as (
    select
        key,
        endpoint,
        window_us,
        length_s as window_s,
        sum(requests)::bigint as requests,
        case when sum(untold) = 0 then sum(limited) end::bigint as limited,
        max(allowed) as logged_limit,
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
