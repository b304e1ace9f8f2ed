-- Failures and answers of some partners by pieces of a window. Failures are counted from above, answers from below: a
-- retry may be taken away, an answered original is not, while the breaker is closed.
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
    where {in_time} and partner in ({names})
    group by all
    union all
    select partner, x_idiv(us, {piece_us}) as piece, 0 as failures, -count(*) as answers
    from {chain_steps}
    where step = 1 and answered = 1 and partner in ({names})
    group by all
)
group by partner, piece
