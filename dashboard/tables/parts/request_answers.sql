-- What requests were answered: attempts that were sent, by partner, and postbacks, by key and endpoint.
select
    /*at*/
    'exchange' as stream,
    partner,
    null::varchar as endpoint,
    outcome,
    attempts as n
from range_attempts
where outcome not in (select outcome from outcomes where grp = 'not_sent')
union all
select
    /*at*/
    'postback' as stream,
    key_id as partner,
    endpoint,
    outcome,
    postbacks as n
from range_postbacks
