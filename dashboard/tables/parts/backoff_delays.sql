-- one row per retry of the range and the delay before it; those that a Retry-After told when to come are left out
with notices_again as (
    select distinct auction_id, kind, partner, coalesce(imp_id, '') as imp_id
    from deliveries
    where is_first = 0 and partner is not null
),

notice_steps as (
    select
        partner,
        us,
        min(us) over notice as call_us,
        us - lag(us) over notice as delay_us,
        row_number() over notice - 1 as retry_no,
        hash(auction_id, kind, imp_id) as origin
    from deliveries
    where (auction_id, kind, partner, coalesce(imp_id, '')) in (
        select (auction_id, kind, partner, imp_id) from notices_again
    )
    window notice as (partition by auction_id, kind, partner, coalesce(imp_id, '') order by us)
),

waits as (
    select
        'postback' as stream,
        partner as key,
        retry_no,
        delay_ms,
        us,
        call_us,
        hash(tenant, event_type, external_order_id) as origin
    from order_retries
    where told = 0
    union all
    select
        'exchange' as stream,
        partner as key,
        retry_no,
        delay_ms,
        us,
        call_us,
        hash(auction_id) as origin
    from retries
    where told = 0
    union all
    select
        'notice' as stream,
        partner as key,
        retry_no,
        delay_us / 1000 as delay_ms,
        us,
        call_us,
        origin
    from notice_steps
    where retry_no > 0
    union all
    -- runs are counted up to 8: what follows is not told apart
    select
        'auction' as stream,
        concat(source, ' ', placement) as key,
        run as retry_no,
        delay_ms,
        us,
        us - (delay_ms * 1000)::bigint as call_us,
        hash(auction_id) as origin
    from repeats
    where run between 1 and 7
)

select waits.*
from waits
cross join asked
where delay_ms is not null
    and (frm_us is null or us >= frm_us)
    and (to_us is null or us < to_us)
    and (all_partners or (stream <> 'auction' and key in (from asked_partners)))
