-- one row per breaker state that a partner's node entered, the one before its first event included: partner, node, place
with events as (
    select
        partner,
        node,
        x_us(ts) as us,
        case when lower(state_from) in ('closed', 'open', 'half_open') then lower(state_from) else 'unknown' end
            as state_from,
        case when lower(state_to) in ('closed', 'open', 'half_open') then lower(state_to) else 'unknown' end as state_to
    from breaker_events
),

told as (
    select
        events.*,
        case state_from when 'unknown' then 1 when 'closed' then 2 when 'open' then 3 else 4 end as from_rank,
        case state_to when 'unknown' then 1 when 'open' then 2 when 'half_open' then 3 else 4 end as to_rank
    from events
),

first_attempts as (
    select partner, node, min(first_us) as first_us
    from hour_nodes
    group by partner, node
),

seen_nodes as (
    select partner, node from first_attempts where partner in (select partner from told)
    union
    select partner, node from told where node is not null
),

nodes as (
    select partner, node from seen_nodes
    union
    select partner, null as node from told where partner not in (select partner from seen_nodes)
),

named as (
    select distinct partner, node from told where node is not null
),

placed as (
    select
        nodes.partner,
        nodes.node,
        told.us,
        told.state_from,
        told.state_to,
        row_number() over (
            partition by nodes.partner, nodes.node
            order by
                told.us,
                told.from_rank asc nulls last,
                told.to_rank asc nulls last
        ) as place
    from nodes
    inner join told
        on nodes.partner = told.partner
            and (
                nodes.node = told.node
                or (told.node is null and (nodes.partner, concat('n', nodes.node)) not in (
                    select (partner, concat('n', node)) from named
                ))
            )
),

begun as (
    select
        nodes.partner,
        nodes.node,
        first_attempts.first_us as us,
        coalesce(placed.state_from, 'unknown') as state,
        0 as place
    from nodes
    inner join first_attempts
        on nodes.partner = first_attempts.partner and nodes.node is not distinct from first_attempts.node
    left join placed
        on nodes.partner = placed.partner and nodes.node is not distinct from placed.node and placed.place = 1
    where placed.us is null or first_attempts.first_us < placed.us
),

marked as (
    select
        partner,
        node,
        us,
        state,
        row_number() over (
            partition by partner, node
            order by us, state_rank asc nulls last
        ) as place
    from (
        select
            breaker_marks.*,
            case state when 'open' then 1 when 'half_open' then 2 else 3 end as state_rank
        from breaker_marks
    ) as runs
    where
        partner in (select partner from breaker_marks where marked = 1)
        and partner not in (select partner from told)
),

unmarked as (
    select
        first_attempts.partner,
        first_attempts.node,
        first_attempts.first_us as us,
        'unknown' as state,
        0 as place
    from first_attempts
    left join marked
        on first_attempts.partner = marked.partner
            and first_attempts.node is not distinct from marked.node
            and marked.place = 1
    where
        first_attempts.partner in (select partner from marked)
        and (marked.us is null or first_attempts.first_us < marked.us)
),

states as (
    select partner, node, us, state, place from begun
    union all
    select partner, node, us, state, place from unmarked
    union all
    select partner, node, us, state_to as state, place from placed
    union all
    select partner, node, us, state, place from marked
)

select
    cast(partner as varchar) as partner,
    cast(node as varchar) as node,
    cast(state as varchar) as state,
    cast(us as bigint) as us,
    cast(place as bigint) as place
from states
