-- one row per postback of an order, in its place: tenant, event_type, external_order_id, position
with keyed as (
    select
        postbacks.*,
        coalesce(tenant, key_id) as order_tenant,
        x_us(ts) as us,
        case when outcome = 'accepted' then 1 else 0 end as won
    from postbacks
    where external_order_id is not null
),

ordered as (
    select
        *,
        row_number() over (
            partition by order_tenant, event_type, external_order_id
            order by
                us, won, key_id, endpoint asc nulls last, method asc nulls last, http_status,
                error_code asc nulls last, retry_after_s asc nulls last, conversion_id asc nulls last,
                duplicate asc nulls last, idempotency_key asc nulls last, idempotent_replay asc nulls last,
                body_hash asc nulls last, signature_hash asc nulls last, x_timestamp asc nulls last,
                latency_ms asc nulls last, amount asc nulls last, currency asc nulls last,
                click_id asc nulls last, client_hash asc nulls last, outcome
        ) as position
    from keyed
),

bounded as (
    select
        *,
        lag(outcome) over (
            partition by order_tenant, event_type, external_order_id order by position
        ) as trigger_outcome,
        min(case when won = 1 then position end) over (
            partition by order_tenant, event_type, external_order_id
        ) as accepted_position
    from ordered
)

select
    cast(order_tenant as varchar) as tenant,
    cast(event_type as varchar) as event_type,
    cast(external_order_id as varchar) as external_order_id,
    cast(key_id as varchar) as key_id,
    cast(outcome as varchar) as outcome,
    cast(trigger_outcome as varchar) as trigger_outcome,
    cast(won as bigint) as won,
    cast(position as bigint) as position,
    cast(accepted_position as bigint) as accepted_position,
    cast(latency_ms as double) as latency_ms,
    cast(us as bigint) as us
from bounded
