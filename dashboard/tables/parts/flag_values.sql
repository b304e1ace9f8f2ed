-- money of won calls whose last bid came on a retry, rolled up as the flags are
with counted as (
    select
        partner,
        trigger,
        currency,
        sum(price) as price
    from flag_rescues
    where currency is not null
    group by all
),

sums as (
    select
        partner,
        trigger,
        currency,
        grouping(partner) = 1 as all_of_partners,
        grouping(trigger) = 1 as all_of_triggers,
        sum(price)::decimal(30, 6) * (select factor from money_factor) as amount
    from counted
    group by grouping sets (
        (partner, trigger, currency), (partner, currency), (trigger, currency), (currency)
    )
)

select
    partner,
    trigger,
    all_of_partners,
    all_of_triggers,
    map_from_entries(list((currency, amount) order by currency)) as revenue
from sums
group by all
