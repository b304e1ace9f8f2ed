-- one row per call that a notice or a winner proves: auction_id, partner, call_us
with delivered as (
    select
        auction_id,
        partner,
        call_us,
        case
            when kind = 'click' then 7
            when kind = 'billing' then 6
            when kind = 'impression' and evidence.billing = 0 then 6
            when kind = 'win' then 5
            else 0
        end as stage
    from notice_calls
    cross join evidence
),

winners as (
    select
        auction_heads.auction_id,
        auction_heads.winner as partner,
        max(call_starts.call_us) as call_us,
        5 as stage
    from auction_heads
    inner join call_starts
        on auction_heads.auction_id = call_starts.auction_id and auction_heads.winner = call_starts.partner
    cross join settings
    where
        call_starts.call_us >= auction_heads.winner_us - settings.notice_us
        and call_starts.call_us <= auction_heads.winner_us + 60000000
    group by auction_heads.auction_id, auction_heads.winner
),

proofs as (
    select auction_id, partner, call_us, stage from delivered
    union all
    select auction_id, partner, call_us, stage from winners
)

select
    cast(auction_id as varchar) as auction_id,
    cast(partner as varchar) as partner,
    cast(call_us as bigint) as call_us,
    cast(max(stage) as bigint) as stage
from proofs
group by auction_id, partner, call_us
