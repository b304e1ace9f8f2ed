-- Reported breakers by node within the range: time in each state, openings, probes, time to recover. One row per
-- partner and node whose states touch the range; the state now and the partner's open nodes are of the newest data.
with states as (
    select
        partner,
        node_key,
        place,
        state,
        from_us,
        to_us,
        lag(state) over lane as state_before,
        count(case when state not in ('open', 'half_open') then 1 end) over lane as outage
    from breaker_intervals
    window lane as (partition by partner, node_key order by place)
),

outages as (
    -- what lies between two closed intervals is one outage: a probe that fails does not begin another
    select
        partner,
        node_key,
        min(from_us) filter (state = 'open') as opened_us,
        case when count(to_us) = count(*) then max(to_us) end as closed_us,
        arg_min(
            coalesce(state_before, 'unknown') = 'closed'
            or (state = 'open' and place > 0 and partner in (select partner from breaker_events)),
            place
        ) as begin_seen
    from states
    where state in ('open', 'half_open')
    group by partner, node_key, outage
),

recoveries as (
    select
        partner,
        node_key,
        count(closed_us)::bigint as recoveries,
        quantile_disc(closed_us - opened_us, 0.5)::double / 1000000 as recover_p50_s
    from outages
    cross join asked
    where begin_seen and (frm_us is null or opened_us >= frm_us) and (to_us is null or opened_us < to_us)
    group by partner, node_key
),

now as (
    select
        partner,
        node_key,
        state as state_now,
        count(case when state = 'open' then 1 end) over (partition by partner) as open_nodes,
        count(*) over (partition by partner) as nodes
    from breaker_intervals
    where to_us is null
),

pieces as (
    select
        spans.*,
        from_us >= here_from_us as begins_here,
        greatest(least(coalesce(here_to_us, newest_us), newest_us) - here_from_us, 0) as us
    from breaker_spans_here as spans
    cross join (select newest_us from streams where stream = 'exchange') as ends
),

sums as (
    select
        partner,
        node,
        concat('n', node) as node_key,
        count(*) filter (state = 'open' and begins_here)::bigint as opens,
        coalesce(sum(us) filter (state = 'open'), 0)::double / 1000000 as open_s,
        coalesce(sum(us) filter (state = 'half_open'), 0)::double / 1000000 as half_open_s,
        coalesce(sum(us) filter (state = 'closed'), 0)::double / 1000000 as closed_s,
        coalesce(sum(us) filter (state = 'unknown'), 0)::double / 1000000 as unknown_s,
        coalesce(sum(us) filter (state <> 'unknown'), 0)::double / 1000000 as known_s,
        coalesce(sum(attempts_here) filter (state = 'half_open'), 0)::bigint as probes,
        coalesce(sum(attempts_here - cancelled_here) filter (state = 'half_open'), 0)::bigint as probes_judged,
        coalesce(sum(answered_here) filter (state = 'half_open'), 0)::bigint as probes_answered,
        sum(attempts_here)::bigint as attempts,
        sum(failures_here)::bigint as failures,
        sum(blocked_here)::bigint as blocked
    from pieces
    group by partner, node
)

select
    sums.partner,
    sums.node,
    now.state_now,
    now.open_nodes,
    now.nodes,
    sums.opens,
    sums.open_s,
    sums.half_open_s,
    sums.closed_s,
    sums.unknown_s,
    sums.known_s,
    sums.open_s / nullif(sums.known_s, 0) as open_share,
    sums.probes,
    sums.probes_judged,
    sums.probes_answered,
    sums.probes_answered::double / nullif(sums.probes_judged, 0)::double as probe_success,
    coalesce(recoveries.recoveries, 0)::bigint as recoveries,
    recoveries.recover_p50_s,
    sums.attempts,
    sums.failures,
    sums.blocked
from sums
inner join now using (partner, node_key)
left join recoveries using (partner, node_key)
order by sums.partner, sums.node nulls first
