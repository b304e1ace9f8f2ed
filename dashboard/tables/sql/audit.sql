-- Rules that retries broke: one row per rule, severity, stream and partner of which anything could be judged. A call
-- or an order lies at its first request; an auction (R9 of the exchange, which has no partner) at its own time.
with counted as (
    select rule, severity, stream, partner, violations, checked
    from range_audit
    union all
    -- a 429 of which nobody can tell yet whether its sender waits is not checked
    select
        'R10' as rule,
        'load' as severity,
        stream,
        key as partner,
        early as violations,
        told - case when open_until_us >= newest_us then limited else 0 end as checked
    from range_asks
    inner join streams using (stream)
),

judged as (
    select
        rule,
        severity,
        stream,
        partner,
        sum(violations)::bigint as violations,
        sum(checked)::bigint as checked
    from counted
    group by all
    having sum(checked) > 0
)

select
    rule,
    severity,
    stream,
    partner,
    violations,
    checked
from judged
order by substr(rule, 2)::integer, severity, stream, partner nulls first
