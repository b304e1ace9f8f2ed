-- partners of whose answers some cannot be told apart, in the whole data: their bids are unknown
select distinct partner
from hour_attempts
where outcome = 'answered_unknown'
