-- Calls of which the log does not show all: one row per stream and partner that has any. `hidden` calls show only their
-- last attempt (orders: a request whose answer is unknown), `uncounted` ones not even how many there were, `undecided`
-- ones not whether they were answered.
select
    stream,
    partner,
    sum(calls)::bigint as calls,
    sum(hidden)::bigint as hidden,
    sum(uncounted)::bigint as uncounted,
    sum(undecided)::bigint as undecided
from range_calls
group by all
having sum(hidden) > 0
order by stream, hidden desc, partner nulls first
