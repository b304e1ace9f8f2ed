-- one row per minute, partner, trigger, retry_no, currency: wins whose call's last bid came on a retry
select
    cast(x_idiv(call_us, 60000000) * 60000000 as bigint) as minute_us,
    cast(partner as varchar) as partner,
    cast(last_bid_trigger as varchar) as trigger,
    cast(currency as varchar) as currency,
    cast(last_bid_retry_no as bigint) as retry_no,
    cast(count(*) as bigint) as wins,
    cast(sum(price) as decimal(38, 6)) as price
from deliveries
where kind = 'win' and is_first = 1 and call_us is not null and last_bid_retry_no is not null
group by x_idiv(call_us, 60000000), partner, last_bid_trigger, last_bid_retry_no, currency
