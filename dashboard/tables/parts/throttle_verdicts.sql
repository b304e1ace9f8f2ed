-- each 429 of the range and what came of its Retry-After, judged on all data: NULL where it carried none
with told as (
    select
        throttled.*,
        newest_us,
        round(retry_after_s * 1000000) as wait_us
    from throttle_rows as throttled
    inner join streams using (stream)
)

select
    *,
    case
        when wait_us is null then null
        when next_us < ends_us + wait_us - 1000000 then 'early'
        when next_us <= ends_us + greatest(2 * wait_us, wait_us + 1000000) then 'on_time'
        when next_us is not null then 'late'
        when newest_us > ends_us + greatest(2 * wait_us, wait_us + 1000000) then 'never'
        else 'pending'
    end as verdict
from told
