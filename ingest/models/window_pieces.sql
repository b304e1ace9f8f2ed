-- one row per hour of requests, key, key_id, endpoint, own_length, window_us: requests of a fixed window, or of a second
-- (own_length: the length that the requests name in seconds; requests that name none lie in the second window_us)
with keyed as (
    select
        case
            when
                client_hash is not null
                and (contains(endpoint, 'exchange') or contains(endpoint, '/r/') or contains(endpoint, '/p/'))
                then client_hash
            else key_id
        end as key,
        key_id,
        endpoint,
        case when window_s > 0 then window_s end as own_length,
        allowed,
        outcome,
        x_us(ts) as us
    from window_postbacks
),

sized as (
    -- longer than all time is one window
    select
        *,
        case when own_length > 9000000000000 then 9000000000000 else coalesce(own_length, 1) end * 1000000 as length_us
    from keyed
),

placed as (
    select
        *,
        x_idiv(us, length_us) * length_us as window_us,
        x_idiv(us, 3600000000) * 3600000000 as hour_us
    from sized
)

select
    cast(hour_us as bigint) as hour_us,
    cast(key as varchar) as key,
    cast(key_id as varchar) as key_id,
    cast(endpoint as varchar) as endpoint,
    cast(own_length as bigint) as own_length,
    cast(window_us as bigint) as window_us,
    cast(count(*) as bigint) as requests,
    cast(sum(case when outcome = 'rate_limited' then 1 else 0 end) as bigint) as limited,
    cast(sum(case when outcome = 'answered_unknown' then 1 else 0 end) as bigint) as untold,
    cast(max(allowed) as bigint) as allowed
from placed
group by hour_us, key, key_id, endpoint, own_length, window_us
