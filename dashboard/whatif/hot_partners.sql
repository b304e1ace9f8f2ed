-- Partners of whom some minutes as long as a window hold enough failures to open a breaker.
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
        sum(failures) over (
            partition by partner order by minute_us range between {back_us} preceding and current row
        ) as failures
    from minutes
)

select distinct partner
from near
where failures >= {least}
order by partner
