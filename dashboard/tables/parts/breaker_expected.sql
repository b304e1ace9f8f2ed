-- one row per interval of the reference breaker of an asked partner, in its order; blocked = sent though it was open
with pieced as (
    select
        partner,
        from_us,
        state,
        max(until_us) as until_us,
        sum(attempts)::bigint as attempts,
        sum(failures)::bigint as failures,
        sum(blocked)::bigint as blocked
    from expected_pieces
    where (select all_partners from asked) or partner in (from asked_partners)
    group by partner, from_us, state
),

followed as (
    select
        pieced.*,
        ends.newest_us,
        row_number() over lane as place,
        lead(from_us) over lane as next_us
    from pieced
    cross join (select newest_us from streams where stream = 'exchange') as ends
    window lane as (partition by partner order by from_us, list_position(['half_open', 'closed', 'open'], state))
),

lasting as (
    -- an open state that the data outlived has ended by itself: its probe is yet to come
    select
        partner,
        state,
        from_us,
        coalesce(next_us, case when newest_us >= until_us then until_us end) as to_us,
        attempts,
        failures,
        blocked,
        place,
        next_us is null and newest_us >= until_us as awaits_probe
    from followed
)

select partner, state, from_us, to_us, attempts, failures, blocked, place from lasting
union all
select partner, 'half_open', to_us, null, 0, 0, 0, place + 1 from lasting where awaits_probe
