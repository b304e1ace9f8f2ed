-- each order whose first postback lies in the range, with what became of it, judged on all data: unknown
-- where a request up to the first acceptance has no known answer
select
    placed.*,
    case
        when hidden = 1 then null
        when accepted = 1 and earlier = 1 then 'accepted_earlier'
        when accepted = 1 and attempts_sent = 1 then 'accepted_first'
        when accepted = 1 then 'accepted_after_retry'
        when newest_us >= call_us + 86400000000 then 'lost'
        else 'pending'
    end as state
from order_rows as placed
cross join (select newest_us from streams where stream = 'postback') as ends
