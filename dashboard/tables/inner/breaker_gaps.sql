-- Where reported breakers and the reference breaker differ, costliest first: one row per partner and outage of the
-- reference, and one per node and reported opening during which the reference stayed closed. Both last to the next
-- closed, failed probes included; an outage that touches the range is kept whole.
with reference as (
    select
        *,
        count(case when state = 'closed' then 1 end) over (partition by partner order by place) as outage
    from breaker_expected
),

outages as (
    select
        partner,
        min(from_us) as from_us,
        case when count(to_us) = count(*) then max(to_us) end as to_us,
        count(*) filter (state = 'open')::bigint as openings,
        sum(blocked)::bigint as wasted
    from reference
    where state <> 'closed'
    group by partner, outage
),

bounds as (
    select coalesce(frm_us, -9223372036854775807) as frm_us, coalesce(to_us, 9223372036854775807) as ends_us
    from asked
),

kept as (
    select outages.*, coalesce(to_us, 9223372036854775807) as until_us
    from outages
    cross join bounds
    where from_us < ends_us and (to_us is null or to_us > bounds.frm_us or from_us >= bounds.frm_us)
),

nodes as (
    select partner, count(distinct node_key) as nodes
    from breaker_intervals
    group by partner
),

answers as (
    -- how the nodes stood during an outage: open, half open (so it had opened before), closed or unknown
    select
        kept.partner,
        kept.from_us,
        count(distinct told.node_key) filter (told.state <> 'unknown')::bigint as known_nodes,
        count(distinct told.node_key) filter (told.state in ('open', 'half_open'))::bigint as open_nodes,
        min(greatest(told.from_us, kept.from_us)) filter (told.state in ('open', 'half_open')) as opened_us
    from kept
    inner join breaker_intervals as told
        on kept.partner = told.partner
            and told.from_us < kept.until_us
            and (told.to_us is null or told.to_us > kept.from_us or told.from_us >= kept.from_us)
    group by kept.partner, kept.from_us
),

compared as (
    select
        kept.partner,
        null::varchar as node,
        case
            when coalesce(answers.known_nodes, 0) = 0 then 'untold'
            when answers.opened_us is null then 'missed'
            when answers.opened_us <= kept.from_us + 1000000 then 'met'
            else 'late'
        end as verdict,
        kept.from_us,
        kept.to_us,
        answers.opened_us,
        kept.openings,
        answers.open_nodes,
        nodes.nodes::bigint as nodes,
        kept.wasted,
        null::bigint as blocked
    from kept
    left join answers on kept.partner = answers.partner and kept.from_us = answers.from_us
    left join nodes on kept.partner = nodes.partner
),

trips as (
    -- what lies between two closed intervals of a node is one opening, failed probes included
    select
        partner,
        node_key,
        place,
        count(case when state not in ('open', 'half_open') then 1 end) over (
            partition by partner, node_key order by place
        ) as trip
    from breaker_intervals
),

openings as (
    select
        spans.partner,
        spans.node,
        min(spans.from_us) as from_us,
        case when count(spans.to_us) = count(*) then max(spans.to_us) end as to_us,
        count(*) filter (spans.state = 'open')::bigint as openings,
        sum(spans.blocked)::bigint as blocked
    from breaker_spans as spans
    inner join trips
        on spans.partner = trips.partner
            and concat('n', spans.node) = trips.node_key
            and spans.place = trips.place
    where spans.state in ('open', 'half_open')
    group by spans.partner, spans.node, trips.trip
    having count(*) filter (spans.state = 'open') > 0
),

needless as (
    select
        openings.partner,
        openings.node,
        'needless' as verdict,
        openings.from_us,
        openings.to_us,
        openings.from_us as opened_us,
        openings.openings,
        null::bigint as open_nodes,
        nodes.nodes::bigint as nodes,
        null::bigint as wasted,
        openings.blocked
    from openings
    inner join nodes on openings.partner = nodes.partner
    anti join outages
        on openings.partner = outages.partner
            and openings.from_us < coalesce(outages.to_us, 9223372036854775807)
            and (openings.to_us is null or openings.to_us > outages.from_us or openings.from_us >= outages.from_us)
    where openings.partner in (select partner from reference)
),

differences as (
    select * from compared
    union all
    select * from needless
)

select
    partner,
    node,
    verdict,
    make_timestamp(from_us) as "from",
    make_timestamp(to_us) as "to",
    (coalesce(to_us, greatest(newest_us, from_us)) - from_us)::double / 1000000 as seconds,
    (opened_us - from_us)::double / 1000000 as lag_s,
    openings,
    open_nodes,
    nodes,
    wasted,
    blocked
from differences
cross join (select newest_us from streams where stream = 'exchange')
order by
    case when verdict = 'needless' then blocked else wasted end desc,
    list_position(['missed', 'late', 'untold', 'needless', 'met'], verdict),
    partner,
    from_us,
    node nulls first
