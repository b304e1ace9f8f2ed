-- When an auction id was used: one row, with the number of its attempts.
--: needs auction
select
    min(x_us(ts))::bigint as first_us,
    max(x_us(ts))::bigint as last_us,
    count(*)::bigint as attempts
from attempt_rows
