-- breaker intervals that touch the range, each with its attempts within the range
with spent as (
    select
        lasting.partner,
        lasting.node_key,
        lasting.place,
        sum(counts.attempts)::bigint as attempts,
        sum(counts.failures)::bigint as failures,
        sum(counts.blocked)::bigint as blocked,
        sum(counts.answered)::bigint as answered,
        sum(counts.cancelled)::bigint as cancelled
    from breaker_counts as counts
    asof join (from breaker_spans where to_us is null or to_us > from_us) as lasting
        on counts.partner = lasting.partner
            and concat('n', counts.node) = lasting.node_key
            and counts.from_us >= lasting.from_us
    where lasting.to_us is null or counts.from_us < lasting.to_us
    group by all
)

select
    spans.partner,
    spans.node,
    spans.place,
    spans.state,
    spans.from_us,
    spans.to_us,
    spans.here_from_us,
    spans.here_to_us,
    coalesce(spent.attempts, 0) as attempts_here,
    coalesce(spent.failures, 0) as failures_here,
    coalesce(spent.blocked, 0) as blocked_here,
    coalesce(spent.answered, 0) as answered_here,
    coalesce(spent.cancelled, 0) as cancelled_here
from breaker_spans as spans
left join spent using (partner, node_key, place)
