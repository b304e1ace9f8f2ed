-- 429s whose Retry-After is known, placed by the call or order that they answered, with what came of them; a time to
-- wait beyond a thousand million seconds is as good as that
with timed as (
    select
        limited.*,
        round(least(retry_after_s, 1000000000) * 1000000)::bigint as wait_us,
        ends.newest_us
    from audit_limited as limited
    inner join streams as ends on limited.stream = ends.stream
)

select
    *,
    case
        when next_us < ends_us + wait_us - 1000000 then 'early'
        when next_us <= ends_us + greatest(2 * wait_us, wait_us + 1000000) then 'on_time'
        when next_us is not null then 'late'
        when newest_us > ends_us + greatest(2 * wait_us, wait_us + 1000000) then 'never'
        else 'pending'
    end as verdict
from timed
