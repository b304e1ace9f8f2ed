-- Notices, each counted once however often it was delivered: one row per kind, partner and currency (null: no price).
--: series
with counted as (
    select
        /*at*/
        kind,
        partner,
        currency,
        sum(uniques)::bigint as uniques,
        sum(deliveries)::bigint as deliveries,
        sum(duplicates)::bigint as duplicates,
        sum(orphans)::bigint as orphans,
        sum(price)::decimal(30, 6) as price,
        sum(without_price)::bigint as without_price
    from range_notices
    group by all
    having sum(deliveries) > 0
)

select
    /*at*/
    kind,
    partner,
    currency,
    uniques as "unique",
    deliveries,
    duplicates,
    orphans,
    case
        when kind in ('win', 'billing') and currency is not null
            then coalesce(price, 0) * (select factor from money_factor)
    end as revenue,
    without_price
from counted
order by
    /*at*/
    list_position(['win', 'billing', 'impression', 'click', 'loss'], kind),
    partner nulls last,
    currency nulls last
