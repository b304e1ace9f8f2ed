-- What the unique wins of calls are worth, as logged, by the attempt that brought them.
select lost.place, currency, sum(price)::decimal(30, 6) as price
from lost_attempts as lost
inner join near_attempts on lost.row = near_attempts.rowid
inner join {deliveries} as deliveries
    on near_attempts.partner = deliveries.partner
        and near_attempts.auction_id = deliveries.auction_id
        and deliveries.call_us = lost.call_us
where kind = 'win' and is_first = 1 and currency is not null
group by all
order by all
