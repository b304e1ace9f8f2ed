-- one row per postback, with the stage it reached; accepted ones of one group_key are one conversion
with keyed as (
    select
        postbacks.*,
        x_us(ts) as us,
        x_group_key(outcome, tenant, key_id, event_type, external_order_id, conversion_id) as group_key,
        x_order_key(outcome, tenant, key_id, event_type, external_order_id) as order_key
    from postbacks
),

ordered as (
    select
        *,
        row_number() over (
            partition by case when conversion_id is not null then group_key end
            order by
                us, key_id asc nulls last, endpoint asc nulls last, method asc nulls last, event_type asc nulls last,
                external_order_id asc nulls last, http_status asc nulls last, error_code asc nulls last,
                retry_after_s asc nulls last, duplicate asc nulls last, idempotency_key asc nulls last,
                idempotent_replay asc nulls last, body_hash asc nulls last, signature_hash asc nulls last,
                x_timestamp asc nulls last, latency_ms asc nulls last, amount asc nulls last,
                currency asc nulls last, click_id asc nulls last, client_hash asc nulls last
        ) as conversion_rn,
        row_number() over (
            partition by order_key
            order by
                us, key_id asc nulls last, endpoint asc nulls last, method asc nulls last, event_type asc nulls last,
                external_order_id asc nulls last, http_status asc nulls last, error_code asc nulls last,
                retry_after_s asc nulls last, duplicate asc nulls last, idempotency_key asc nulls last,
                idempotent_replay asc nulls last, body_hash asc nulls last, signature_hash asc nulls last,
                x_timestamp asc nulls last, latency_ms asc nulls last, amount asc nulls last,
                currency asc nulls last, click_id asc nulls last, client_hash asc nulls last
        ) as order_rn
    from keyed
    where group_key is not null
),

staged as (
    select
        us, key_id, endpoint, tenant, outcome, duplicate, group_key,
        case
            when conversion_id is not null and conversion_rn = 1 then 4
            when conversion_id is null and order_rn = 1 then 4
            else 3
        end as stage
    from ordered
    union all
    select
        us, key_id, endpoint, tenant, outcome, duplicate, group_key,
        case outcome
            when 'accepted' then 4
            when 'rate_limited' then 0
            when 'answered_unknown' then 0
            when 'stale_timestamp' then 1
            when 'replay' then 1
            else 2
        end as stage
    from keyed
    where group_key is null
)

select
    cast(key_id as varchar) as key_id,
    cast(endpoint as varchar) as endpoint,
    cast(tenant as varchar) as tenant,
    cast(outcome as varchar) as outcome,
    cast(case stage when 4 then null when 3 then 'duplicate' else outcome end as varchar) as reason,
    cast(group_key as varchar) as group_key,
    cast(stage as bigint) as stage,
    cast(case when outcome = 'accepted' and duplicate then 1 else 0 end as bigint) as duplicate,
    cast(us as bigint) as us,
    cast(x_idiv(us, 3600000000) * 3600000000 as bigint) as hour_us,
    x_ts(us) as ts
from staged
