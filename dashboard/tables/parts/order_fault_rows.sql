-- each fault of an order of the range; reuses of idempotency keys by requests of the range without an order make one
-- row of their tenant and event type
with reused as (
    select placed.tenant, placed.event_type, placed.external_order_id, placed.call_us, placed.partner
    from order_rows as placed
    semi join order_reuses as reuses
        on placed.tenant is not distinct from reuses.tenant
            and placed.event_type is not distinct from reuses.event_type
            and placed.external_order_id = reuses.external_order_id
),

placed as (
    select
        tenant,
        event_type,
        external_order_id,
        call_us,
        partner,
        double_count,
        reused_id,
        unmarked_duplicate
    from faulty_rows
    union all by name
    select reused.*
    from reused
    anti join faulty_rows as faulty
        on reused.tenant is not distinct from faulty.tenant
            and reused.event_type is not distinct from faulty.event_type
            and reused.external_order_id = faulty.external_order_id
),

found as (
    select
        placed.*,
        reuses.keys,
        reuses.low_key,
        reuses.high_key
    from placed
    left join order_reuses as reuses
        on placed.tenant is not distinct from reuses.tenant
            and placed.event_type is not distinct from reuses.event_type
            and placed.external_order_id = reuses.external_order_id
    union all by name
    select
        tenant,
        event_type,
        min(us) as call_us,
        min(key_id) as partner,
        count(distinct idempotency_key) as keys,
        min(idempotency_key) as low_key,
        max(idempotency_key) as high_key
    from lone_reuses
    group by tenant, event_type
),

told as (
    select
        tenant,
        event_type,
        external_order_id,
        call_us,
        partner,
        unnest(
            [
                {fault: 'double_count', detail: double_count},
                {
                    fault: 'key_reuse',
                    detail: case
                        when keys = 1 then concat('idempotency key ', substring(low_key, 1, 60), ' with another body')
                        when keys > 1 then concat(
                            'idempotency keys ',
                            substring(low_key, 1, 60),
                            case when keys = 2 then ' and ' else ', ' end,
                            substring(high_key, 1, 60),
                            case when keys > 2 then concat(' and ', keys - 2, ' more') end,
                            ' with another body'
                        )
                    end
                },
                {fault: 'reused_id', detail: reused_id},
                {fault: 'unmarked_duplicate', detail: unmarked_duplicate}
            ],
            recursive := true
        )
    from found
)

select
    fault,
    tenant,
    event_type,
    external_order_id,
    detail,
    call_us,
    partner
from told
where detail is not null
