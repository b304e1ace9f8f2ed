-- one row per hour, stream, partner, rule, severity: the sums of minute_audit
select
    cast(x_idiv(minute_us, 3600000000) * 3600000000 as bigint) as hour_us,
    cast(stream as varchar) as stream,
    cast(partner as varchar) as partner,
    cast(rule as varchar) as rule,
    cast(severity as varchar) as severity,
    cast(sum(violations) as bigint) as violations,
    cast(sum(checked) as bigint) as checked
from minute_audit
group by x_idiv(minute_us, 3600000000), stream, partner, rule, severity
