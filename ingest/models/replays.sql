-- one row per postback replayed by its signature alone: key_id, signature_hash, us
-- (within 600 s of the first use that was not a 429; those whose error_code says it are told by that)
with again as (
    select key_id, signature_hash
    from postbacks
    where signature_hash is not null
    group by key_id, signature_hash
    having count(*) > 1
),

uses as (
    select
        postbacks.*,
        x_us(postbacks.ts) as us,
        case when postbacks.outcome = 'accepted' then 1 else 0 end as won
    from postbacks
    inner join again
        on postbacks.key_id is not distinct from again.key_id
            and postbacks.signature_hash = again.signature_hash
),

ordered as (
    select
        *,
        row_number() over (
            partition by key_id, signature_hash
            order by
                us, won, endpoint asc nulls last, method asc nulls last, http_status asc nulls last,
                error_code asc nulls last, retry_after_s asc nulls last, conversion_id asc nulls last,
                duplicate asc nulls last, idempotency_key asc nulls last, idempotent_replay asc nulls last,
                body_hash asc nulls last, x_timestamp asc nulls last, latency_ms asc nulls last,
                amount asc nulls last, currency asc nulls last, click_id asc nulls last,
                client_hash asc nulls last, outcome, tenant asc nulls last, event_type asc nulls last,
                external_order_id asc nulls last
        ) as position
    from uses
),

first_used as (
    select
        *,
        min(case when outcome <> 'rate_limited' then position end) over (
            partition by key_id, signature_hash
        ) as first_position,
        min(case when outcome <> 'rate_limited' then us end) over (
            partition by key_id, signature_hash
        ) as first_us
    from ordered
)

select
    cast(key_id as varchar) as key_id,
    cast(signature_hash as varchar) as signature_hash,
    cast(coalesce(tenant, key_id) as varchar) as tenant,
    cast(event_type as varchar) as event_type,
    cast(external_order_id as varchar) as external_order_id,
    cast(first_us as bigint) as first_us,
    cast(us as bigint) as us,
    cast(x_idiv(us, 3600000000) * 3600000000 as bigint) as hour_us
from first_used
where position > first_position
    and us - first_us <= 600000000
    and coalesce(error_code, '') <> 'POSTBACK_REPLAY'
