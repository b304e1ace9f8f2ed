-- Wins whose call's last bid came on a retry: one row per partner, trigger and currency (none: no price was known).
select
    partner,
    trigger,
    currency,
    sum(wins)::bigint as wins,
    sum(price)::decimal(30, 6) * (select factor from money_factor) as revenue
from range_rescues
group by partner, trigger, currency
having sum(wins) > 0
order by currency nulls last, wins desc, partner, trigger
