-- The newest 500 orders of each state, and the newest 500 with a retry after more than 24 h: one row per order, with
-- its last outcome and the first amount that is known of it.
with firsts as (
    select
        state,
        list_min(max(call_us, 500)) as state_us,
        list_min(max(call_us, 500) filter (beyond_day > 0)) as beyond_us
    from order_verdicts
    group by state
),

newest as (
    select verdicts.*
    from order_verdicts as verdicts
    inner join firsts on verdicts.state is not distinct from firsts.state
    where call_us >= state_us or (beyond_day > 0 and call_us >= beyond_us)
),

posts as (
    select
        newest.tenant,
        newest.event_type,
        newest.external_order_id,
        arg_max(posts.outcome, (x_us(posts.ts), posts.outcome = 'accepted', posts.outcome)) as last_outcome,
        arg_min({amount: posts.amount, currency: posts.currency}, (x_us(posts.ts), posts.amount, posts.currency))
            filter (posts.amount is not null) as paid
    from newest
    inner join later_postbacks as posts
        on newest.external_order_id = posts.external_order_id
            and newest.tenant is not distinct from coalesce(posts.tenant, posts.key_id)
            and newest.event_type is not distinct from posts.event_type
    group by all
)

select
    newest.state,
    newest.tenant,
    newest.event_type,
    newest.external_order_id,
    newest.partner as key,
    make_timestamp(newest.call_us) as first_request,
    newest.requests,
    newest.beyond_day as retries_beyond_day,
    posts.last_outcome,
    posts.paid.amount as amount,
    posts.paid.currency as currency
from newest
left join posts
    on newest.tenant is not distinct from posts.tenant
        and newest.event_type is not distinct from posts.event_type
        and newest.external_order_id = posts.external_order_id
order by newest.call_us desc, newest.tenant nulls first, newest.event_type nulls first, newest.external_order_id
