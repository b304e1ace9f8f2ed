-- Failures and answers of some partners by pieces of a window, in the minutes in which a window may hold enough failures
-- and in those that it reaches back into. Failures are counted from above, answers from below: a retry may be taken
-- away, an answered original is not, while the breaker is closed.
with minutes as (
    select partner, minute_us, sum(attempts) filter (grp = 'failure') as failures
    from {minute_attempts}
    inner join outcomes using (outcome)
    where {in_minutes} and partner in ({names})
    group by all
),

near as (
    select
        partner,
        minute_us,
        sum(failures) over (
            partition by partner order by minute_us range between {back_us} preceding and current row
        ) as failures
    from minutes
),

hot as (
    select distinct partner, minute_us - back * 60000000 as minute_us
    from near
    cross join generate_series(0, {back_us} // 60000000) as reach (back)
    where failures >= {least}
)

select
    list_position([{names}], partner) - 1 as code,
    piece,
    sum(failures)::bigint as failures,
    sum(answers)::bigint as answers
from (
    select
        partner,
        x_idiv(x_us(ts), {piece_us}) as piece,
        count(*) filter (grp = 'failure') as failures,
        count(*) filter (grp = 'answered') as answers
    from {attempts}
    inner join outcomes using (outcome)
    where
        {in_time}
        and not coalesce(last_only and coalesce(attempt_count, 2) > 1, false)
        and (partner, x_idiv(x_us(ts), 60000000) * 60000000) in (select (partner, minute_us) from hot)
    group by all
    union all
    select partner, x_idiv(us, {piece_us}) as piece, 0 as failures, -count(*) as answers
    from {chain_steps}
    where
        step = 1
        and answered = 1
        and (partner, x_idiv(us, 60000000) * 60000000) in (select (partner, minute_us) from hot)
    group by all
)
group by partner, piece
