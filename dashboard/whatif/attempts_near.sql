-- Sent attempts of the asked minutes, and all of the calls near them that were retried; `call` is NULL where the
-- attempt is the only one of its call, for then nothing but itself depends on it.
with retried as (
    select partner, auction_id, call_us, row_number() over () - 1 as call
    from (
        select distinct steps.partner, steps.auction_id, steps.call_us
        from {chain_steps} as steps
        semi join asked_partners using (partner)
    )
),

reached as (
    select distinct retried.call
    from {chain_steps} as steps
    semi join asked_minutes
        on steps.partner = asked_minutes.partner
            and asked_minutes.minute between x_idiv(steps.call_us, 60000000) and x_idiv(steps.us, 60000000)
    inner join retried using (partner, auction_id, call_us)
)
select 1
