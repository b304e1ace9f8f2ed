-- one row per breaker interval; equal states in a row are one
with changes as (
    select
        partner,
        node,
        us,
        state,
        place,
        lag(state) over (partition by partner, node order by place) is distinct from state as changed
    from breaker_states
    where (select all_partners from asked) or partner in (from asked_partners)
)

select
    partner,
    node,
    concat('n', node) as node_key,
    place,
    state,
    us as from_us,
    lead(us) over (partition by partner, node order by place) as to_us
from changes
where changed
