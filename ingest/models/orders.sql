-- one row per order: tenant, event_type, external_order_id
with counted as (
    select
        tenant,
        event_type,
        external_order_id,
        max(case when position = 1 then key_id end) as partner,
        max(case when position = 1 then outcome end) as original_outcome,
        max(accepted_position) as accepted_position,
        min(us) as call_us,
        count(*) as requests
    from order_posts
    group by tenant, event_type, external_order_id
),

sized as (
    select
        *,
        case when accepted_position is null then 0 else 1 end as accepted,
        coalesce(accepted_position, requests) as attempts_sent
    from counted
)

select
    cast(tenant as varchar) as tenant,
    cast(event_type as varchar) as event_type,
    cast(external_order_id as varchar) as external_order_id,
    cast(partner as varchar) as partner,
    cast(case
        when original_outcome = 'accepted' then null
        when accepted = 1 then concat('recovered_', cast(cast(attempts_sent - 1 as bigint) as varchar))
        when attempts_sent > 1 then 'exhausted'
        else 'not_retried'
    end as varchar) as fate,
    cast(requests as bigint) as requests,
    cast(attempts_sent as bigint) as attempts_sent,
    cast(accepted as bigint) as answered_attempts,
    cast(attempts_sent - 1 as bigint) as retries,
    cast(case when attempts_sent > 1 then 1 else 0 end as bigint) as retried,
    cast(case when attempts_sent > 1 and accepted = 1 then 1 else 0 end as bigint) as recovered,
    cast(accepted as bigint) as accepted,
    cast(call_us as bigint) as call_us,
    cast(x_idiv(call_us, 3600000000) * 3600000000 as bigint) as hour_us,
    x_ts(call_us) as ts
from sized
