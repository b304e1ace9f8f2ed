-- Postbacks of a key that are stale or replayed, newest first: one row per postback.
--: needs key
--: limit 500
with signed as (
    select
        *,
        abs(x_us(ts) - x_us(x_timestamp)) as skew_us
    from postback_rows
),

judged as (
    select
        signed.*,
        coalesce(skew_us > 300000000, false) or coalesce(error_code = 'POSTBACK_STALE_TIMESTAMP', false) as stale,
        replayed.first_us,
        coalesce(error_code = 'POSTBACK_REPLAY', false) or replayed.first_us is not null as replayed
    from signed
    left join (
        select key_id, signature_hash, us, min(first_us) as first_us
        from replay_rows
        group by all
    ) as replayed
        on signed.key_id is not distinct from replayed.key_id
            and signed.signature_hash = replayed.signature_hash
            and x_us(signed.ts) = replayed.us
)

select
    ts,
    stale,
    replayed,
    skew_us::double / 1000000 as skew_s,
    make_timestamp(first_us) as first_use,
    outcome,
    http_status,
    error_code,
    tenant,
    event_type,
    external_order_id,
    signature_hash,
    endpoint
from judged
where stale or replayed
order by ts desc, tenant, event_type, external_order_id, signature_hash, event_id
