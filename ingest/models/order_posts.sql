-- one row per postback of an order, in its place: tenant, event_type, external_order_id, position
-- (what comes behind one whose answer is unknown may be a retry or not, and is none here)
with keyed as (
    select
        postbacks.*,
        coalesce(tenant, key_id) as order_tenant,
        x_us(ts) as us,
        case when outcome = 'accepted' then 1 else 0 end as won,
        case when outcome = 'answered_unknown' then 1 else 0 end as untold
    from postbacks
    where external_order_id is not null
),

-- orders of several requests; the others, which are most, need no look at their neighbours
repeated as (
    select order_tenant, event_type, external_order_id
    from keyed
    group by order_tenant, event_type, external_order_id
    having count(*) > 1
),

divided as (
    select
        keyed.*,
        case when repeated.external_order_id is null then 1 else 0 end as alone
    from keyed
    left join repeated
        on keyed.order_tenant is not distinct from repeated.order_tenant
            and keyed.event_type is not distinct from repeated.event_type
            and keyed.external_order_id = repeated.external_order_id
),

ordered as (
    select
        *,
        row_number() over (
            partition by order_tenant, event_type, external_order_id
            order by
                us, won, key_id asc nulls last, endpoint asc nulls last, method asc nulls last,
                http_status asc nulls last,
                error_code asc nulls last, retry_after_s asc nulls last, conversion_id asc nulls last,
                duplicate asc nulls last, idempotency_key asc nulls last, idempotent_replay asc nulls last,
                body_hash asc nulls last, signature_hash asc nulls last, x_timestamp asc nulls last,
                latency_ms asc nulls last, amount asc nulls last, currency asc nulls last,
                click_id asc nulls last, client_hash asc nulls last, outcome
        ) as position
    from divided
    where alone = 0
),

bounded as (
    select
        *,
        lag(outcome) over (
            partition by order_tenant, event_type, external_order_id order by position
        ) as trigger_outcome,
        lag(us) over (
            partition by order_tenant, event_type, external_order_id order by position
        ) as trigger_us,
        lag(latency_ms) over (
            partition by order_tenant, event_type, external_order_id order by position
        ) as trigger_latency_ms,
        lag(retry_after_s) over (
            partition by order_tenant, event_type, external_order_id order by position
        ) as trigger_retry_after_s,
        min(case when won = 1 then position end) over (
            partition by order_tenant, event_type, external_order_id
        ) as accepted_position,
        min(case when untold = 1 then position end) over (
            partition by order_tenant, event_type, external_order_id
        ) as untold_position,
        min(case when signature_hash is not null then position end) over (
            partition by order_tenant, event_type, external_order_id
        ) as signed_position,
        min(us) over (partition by order_tenant, event_type, external_order_id) as call_us
    from ordered
),

-- where a value that comes again in its order stood first
traced as (
    select
        *,
        min(position) over (
            partition by order_tenant, event_type, external_order_id, signature_hash
        ) as signature_position,
        min(position) over (
            partition by order_tenant, event_type, external_order_id, body_hash
        ) as body_position,
        min(position) over (
            partition by order_tenant, event_type, external_order_id, won, conversion_id
        ) as conversion_position
    from bounded
),

tried as (
    select
        order_tenant, event_type, external_order_id, key_id, endpoint, outcome, error_code, conversion_id, body_hash,
        signature_hash, currency, amount, duplicate, idempotent_replay, latency_ms, us, won, alone, position,
        accepted_position, untold_position, signature_position, signed_position, body_position, conversion_position,
        trigger_outcome, trigger_us, trigger_latency_ms, trigger_retry_after_s, call_us,
        case
            when untold_position <= position then 0
            when position > 1 and position <= coalesce(accepted_position, position) then 1
            else 0
        end as retry
    from traced
    union all
    select
        order_tenant, event_type, external_order_id, key_id, endpoint, outcome, error_code, conversion_id, body_hash,
        signature_hash, currency, amount, duplicate, idempotent_replay, latency_ms, us, won, alone,
        1 as position,
        case when won = 1 then 1 end as accepted_position,
        case when untold = 1 then 1 end as untold_position,
        1 as signature_position,
        cast(null as bigint) as signed_position,
        1 as body_position,
        1 as conversion_position,
        cast(null as varchar) as trigger_outcome,
        cast(null as bigint) as trigger_us,
        cast(null as double) as trigger_latency_ms,
        cast(null as double) as trigger_retry_after_s,
        us as call_us,
        0 as retry
    from divided
    where alone = 1
)

select
    cast(order_tenant as varchar) as tenant,
    cast(event_type as varchar) as event_type,
    cast(external_order_id as varchar) as external_order_id,
    cast(key_id as varchar) as key_id,
    cast(endpoint as varchar) as endpoint,
    cast(outcome as varchar) as outcome,
    cast(trigger_outcome as varchar) as trigger_outcome,
    cast(conversion_id as varchar) as conversion_id,
    cast(body_hash as varchar) as body_hash,
    cast(currency as varchar) as currency,
    cast(amount as decimal(18, 6)) as amount,
    cast(case when duplicate then 1 else 0 end as bigint) as duplicate,
    cast(case when idempotent_replay then 1 else 0 end as bigint) as replayed,
    cast(won as bigint) as won,
    cast(alone as bigint) as alone,
    cast(retry as bigint) as retry,
    cast(position as bigint) as position,
    cast(accepted_position as bigint) as accepted_position,
    cast(untold_position as bigint) as untold_position,
    cast(body_position as bigint) as body_position,
    cast(conversion_position as bigint) as conversion_position,
    cast(case when retry = 1 then case when trigger_outcome = 'client_error' then 1 else 0 end end as bigint) as r8,
    cast(case when retry = 1 then case when us - trigger_us <= 100000 then 1 else 0 end end as bigint) as r9,
    cast(case
        when retry = 0 then null
        when outcome in ('stale_timestamp', 'replay') then 1
        when error_code in ('POSTBACK_STALE_TIMESTAMP', 'POSTBACK_REPLAY') then 1
        when signature_hash is null then null
        when signature_position < position then 1
        when signed_position < position then 0
    end as bigint) as r11,
    cast(case when trigger_retry_after_s is not null then 1 else 0 end as bigint) as told,
    cast(latency_ms as double) as latency_ms,
    cast(cast(us - trigger_us as double) * 0.001 - coalesce(trigger_latency_ms, 0) as double) as waited_ms,
    cast(us as bigint) as us,
    cast(call_us as bigint) as call_us
from tried
