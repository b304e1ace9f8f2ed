-- one row per idempotency key used again with another body: key_id, idempotency_key
with suspects as (
    select key_id, idempotency_key
    from postbacks
    where idempotency_key is not null
    group by key_id, idempotency_key
    having min(body_hash) <> max(body_hash)
),

uses as (
    select
        postbacks.*,
        x_us(postbacks.ts) as us,
        case when postbacks.outcome = 'accepted' then 1 else 0 end as won
    from postbacks
    inner join suspects
        on postbacks.key_id is not distinct from suspects.key_id
            and postbacks.idempotency_key = suspects.idempotency_key
    where postbacks.body_hash is not null
),

ordered as (
    select
        *,
        row_number() over (
            partition by key_id, idempotency_key
            order by
                us, won, endpoint asc nulls last, method asc nulls last, http_status asc nulls last,
                error_code asc nulls last, retry_after_s asc nulls last, conversion_id asc nulls last,
                duplicate asc nulls last, idempotent_replay asc nulls last, body_hash asc nulls last,
                signature_hash asc nulls last, x_timestamp asc nulls last, latency_ms asc nulls last,
                amount asc nulls last, currency asc nulls last, click_id asc nulls last,
                client_hash asc nulls last, outcome, tenant asc nulls last, event_type asc nulls last,
                external_order_id asc nulls last
        ) as position
    from uses
),

compared as (
    select
        *,
        max(case when position = 1 then body_hash end) over (
            partition by key_id, idempotency_key
        ) as first_body_hash
    from ordered
),

differing as (
    select
        *,
        row_number() over (partition by key_id, idempotency_key order by position) as place
    from compared
    where body_hash <> first_body_hash
)

select
    cast(key_id as varchar) as key_id,
    cast(idempotency_key as varchar) as idempotency_key,
    cast(coalesce(tenant, key_id) as varchar) as tenant,
    cast(event_type as varchar) as event_type,
    cast(external_order_id as varchar) as external_order_id,
    cast(first_body_hash as varchar) as first_body_hash,
    cast(body_hash as varchar) as body_hash,
    cast(us as bigint) as us,
    cast(x_idiv(us, 3600000000) * 3600000000 as bigint) as hour_us
from differing
where place = 1
