-- Where a breaker could open: the pieces of a tenth of its window whose attempts could be the one at which it does.
-- Failures are counted from above, answers from below: a retry may be taken away, an answered original is not.
with minutes as (
    select partner, minute_us, sum(attempts) filter (grp = 'failure') as failures
    from {minute_attempts}
    inner join outcomes using (outcome)
    where {in_minutes} and {of_partners}
    group by all
),

near as (
    select
        partner,
        minute_us,
        sum(failures) over (
            partition by partner order by minute_us range between {back_us} preceding and current row
        ) >= {least} as hot
    from minutes
),

needed as (
    select distinct partner, minute_us + step.minutes * 60000000 as minute_us
    from near
    cross join (select unnest(range(-{back_minutes}, 1)) as minutes) as step
    where hot
),

counted as (
    select
        partner,
        x_idiv(x_us(ts), {piece_us}) as piece,
        count(*) filter (grp = 'failure') as failures,
        count(*) filter (grp = 'answered') as answers
    from {attempts} as attempts
    inner join outcomes using (outcome)
    semi join needed
        on attempts.partner = needed.partner and x_idiv(x_us(ts), 60000000) * 60000000 = needed.minute_us
    group by all
    union all
    select partner, x_idiv(us, {piece_us}) as piece, 0 as failures, -count(*) as answers
    from {chain_steps} as steps
    semi join needed on steps.partner = needed.partner and x_idiv(us, 60000000) * 60000000 = needed.minute_us
    where step = 1 and answered = 1
    group by all
),

pieces as (
    select partner, piece, sum(failures) as failures, sum(answers) as answers
    from counted
    group by all
),

reached as (
    select
        partner,
        piece,
        sum(failures) over (partition by partner order by piece range between {pieces} + 1 preceding and current row) as many,
        coalesce(
            sum(answers) over (partition by partner order by piece range between {pieces} - 1 preceding and 1 preceding), 0
        ) as sure
    from pieces
)

select partner, piece::bigint as piece
from reached
where many >= {least} and many >= {share} * (many + sure)
order by partner, piece
