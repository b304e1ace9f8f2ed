-- every stage of the funnels, and whether the whole data holds any evidence of it
with names as (
    select
        coalesce(bool_or(present) filter (name = 'attempts'), false) as attempts,
        coalesce(bool_or(present) filter (name = 'auctions'), false) as auctions,
        coalesce(bool_or(present) filter (name = 'postbacks'), false) as postbacks,
        coalesce(bool_or(present) filter (name in ('winner', 'win', 'loss', 'billing', 'impression', 'click')), false)
            as won,
        coalesce(bool_or(present) filter (name in ('billing', 'impression', 'click')), false) as billed,
        coalesce(bool_or(present) filter (name = 'click'), false) as clicked,
        coalesce(bool_and(present) filter (name in ('click_id', 'postback_click_id')), false) as converted
    from evidence
),

answers as (
    select coalesce(bool_or(outcome <> 'answered_unknown'), true) as told
    from hour_attempts
    where outcome in ('bid', 'no_bid', 'answered_unknown')
),

replies as (
    select coalesce(bool_or(outcome <> 'answered_unknown'), true) as replied
    from hour_postbacks
),

-- conversions are found by single clicks and orders
kept as (
    select whole from kept_facts
),

evident as (
    select
        *,
        (attempts and told) as bid
    from names, answers, replies, kept
)

select
    listed.*,
    case listed.proof
        when 'any' then attempts or auctions
        when 'attempts' then attempts
        when 'bid' then bid
        when 'won' then attempts and won
        when 'billed' then attempts and billed
        when 'clicked' then attempts and clicked
        when 'converted' then attempts and clicked and converted and replied and whole
        when 'postbacks' then postbacks
        when 'replied' then postbacks and replied
    end as known
from evident, (
    values
    ('call', 1, 'considered', 'attempts'),
    ('call', 2, 'sent', 'attempts'),
    ('call', 3, 'answered', 'attempts'),
    ('call', 4, 'bid', 'bid'),
    ('call', 5, 'in_auction', 'bid'),
    ('call', 6, 'won', 'won'),
    ('call', 7, 'billed', 'billed'),
    ('call', 8, 'clicked', 'clicked'),
    ('auction', 1, 'auctions', 'any'),
    ('auction', 2, 'call_sent', 'attempts'),
    ('auction', 3, 'bid', 'bid'),
    ('auction', 4, 'filled', 'won'),
    ('auction', 5, 'billed', 'billed'),
    ('auction', 6, 'clicked', 'clicked'),
    ('auction', 7, 'converted', 'converted'),
    ('postback', 1, 'received', 'postbacks'),
    ('postback', 2, 'passed_limits', 'replied'),
    ('postback', 3, 'authentic', 'replied'),
    ('postback', 4, 'accepted', 'replied'),
    ('postback', 5, 'unique', 'replied')
) as listed (funnel, position, stage, proof)
