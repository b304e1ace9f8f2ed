-- Why partners declined: one row per partner and reason. Codes from 18 up share a name by their range.
--: series
with counted as (
    select
        /*at*/
        partner,
        reason,
        sum(attempts)::bigint as no_bids
    from range_attempts
    where outcome = 'no_bid'
    group by all
),

placed as (
    select
        *,
        case when regexp_full_match(reason, '[0-9]+') then least(coalesce(try_cast(reason as hugeint), 500), 500) end
            as code,
        case
            when code between 18 and 499 then 'reserved'
            when code >= 500 then 'exchange'
            when code is null and reason = 'no_reason' then 'none'
            when code is null then reason
        end as range_class
    from counted
)

select
    /*at*/
    placed.partner,
    placed.reason,
    nbr_codes.name,
    nbr_codes.class,
    placed.no_bids
from placed
left join nbr_codes
    on placed.code = try_cast(nbr_codes.code as hugeint)
        or (nbr_codes.code is null and nbr_codes.class = placed.range_class)
where placed.no_bids > 0
order by /*at*/ placed.partner, placed.no_bids desc, placed.reason
