-- Of attempts that are not sent: when their call began, and how deep it got.
select lost.place, calls.call_us, calls.stage
from lost_attempts as lost
inner join near_attempts on lost.row = near_attempts.rowid
inner join {calls} as calls
    on near_attempts.partner = calls.partner
        and near_attempts.auction_id = calls.auction_id
        and near_attempts.us between calls.call_us and calls.call_us + {span_us}
order by lost.place
