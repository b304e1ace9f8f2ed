-- The sent attempts of the asked minutes, and all of those calls. `call` is NULL where an attempt is its call's only
-- one: then no other depends on it, and neither does it have a time budget to keep. What stands for attempts that are
-- not shown is left out.
insert into near_attempts
with heads as (
    select auction_id, tmax_ms
    from (
        with auctions as (
            select * from {auctions} semi join near_calls using (auction_id)
        )

        select *
        from (
            {auction_heads}
        )
    )
),

picked as (
    select *, x_us(ts) as us, x_idiv(x_us(ts), 60000000) as minute
    from {attempts} as attempts
    semi join near_minutes
        on attempts.partner = near_minutes.partner and x_idiv(x_us(ts), 60000000) = near_minutes.minute
    where
        attempts.partner in ({partners})
        and {condition}
        and not coalesce(last_only and coalesce(attempt_count, 2) > 1, false)
)

select
    asked_codes.code,
    near_calls.call,
    picked.us,
    list_position([{triggers}], picked.outcome) - 1,
    grp = 'failure',
    grp <> 'cancelled',
    grp = 'answered',
    coalesce(coalesce(budget_ms, heads.tmax_ms) - {reserve_ms} - elapsed_ms < timeout_ms, false),
    coalesce(elapsed_ms + latency_ms - coalesce(budget_ms, heads.tmax_ms) + {reserve_ms} > 0, false),
    elapsed_ms + latency_ms - coalesce(budget_ms, heads.tmax_ms) is not null,
    latency_ms,
    picked.partner,
    picked.auction_id
from picked
inner join outcomes using (outcome)
inner join asked_codes on picked.partner = asked_codes.partner
left join near_calls
    on picked.partner = near_calls.partner
        and picked.auction_id = near_calls.auction_id
        and picked.us between near_calls.call_us and near_calls.call_us + {span_us}
left join heads on picked.auction_id = heads.auction_id and near_calls.call is not null
where
    grp <> 'not_sent'
    and (near_calls.call is not null or (picked.partner, picked.minute) in (select (partner, minute) from asked_minutes))
{order}
