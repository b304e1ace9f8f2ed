-- one row per call: auction_id, partner, call_us
with counted as (
    select
        auction_id,
        partner,
        call_us,
        sum(sent + attempts_hidden) as attempts_sent,
        sum(1 - sent) as not_sent,
        sum(answered) as answered_attempts,
        sum(case when outcome = 'cancelled' then 1 else 0 end) as cancelled_attempts,
        max(hidden) as hidden,
        max(uncounted) as uncounted,
        max(case when sent_no > 0 and outcome <> 'cancelled' then 1 else 0 end) as retried,
        min(case when hidden = 0 and sent_no > 0 and rnk > original_rnk then sent_no end) as recovered_by,
        sum(case when hidden = 0 and sent_no > 0 and outcome <> 'cancelled' and late = 1 then 1 else 0 end)
            as late_retries,
        sum(case when hidden = 0 and sent_no > 0 and outcome <> 'cancelled' and late is not null then 1 else 0 end)
            as late_checked,
        max(original_grp) as original_grp,
        max(case when outcome = 'bid' then 1 else 0 end) as bid,
        max(case when outcome = 'bid' and reject_reason is null and coalesce(late, 0) = 0 then 1 else 0 end)
            as in_auction,
        max(case when is_last = 1 then outcome end) as last_outcome,
        max(case when is_last = 1 then 1 - sent end) as last_unsent,
        max(case when is_last = 1 then not_sent end) as last_not_sent,
        max(case when is_last_sent = 1 then outcome end) as last_sent_outcome,
        max(case when is_last_answered = 1 then coalesce(reason, outcome) end) as last_answer_reason,
        max(case when is_last_bid = 1 then coalesce(reject_reason, 'late') end) as last_bid_loss,
        max(case when hidden = 0 and is_last_bid = 1 then trigger_outcome end) as last_bid_trigger,
        max(case when hidden = 0 and is_last_bid = 1 and sent_no > 0 then sent_no end) as last_bid_retry_no,
        count(r4) as retries_checked,
        sum(r1_harmful) as r1_harmful,
        sum(r1_waste) as r1_waste,
        sum(r2) as r2,
        sum(r3) as r3,
        sum(r4) as r4,
        sum(r5) as r5,
        count(r5) as r5_checked,
        sum(r6) as r6,
        count(r6) as r6_checked,
        sum(r7) as r7,
        count(r7) as r7_checked,
        sum(r8) as r8,
        sum(r12) as r12,
        count(r12) as r12_checked
    from call_attempts
    where alone = 0
    group by auction_id, partner, call_us
    union all
    select
        auction_id,
        partner,
        call_us,
        sent + attempts_hidden as attempts_sent,
        1 - sent as not_sent,
        answered as answered_attempts,
        case when outcome = 'cancelled' then 1 else 0 end as cancelled_attempts,
        hidden,
        uncounted,
        0 as retried,
        cast(null as bigint) as recovered_by,
        0 as late_retries,
        0 as late_checked,
        grp as original_grp,
        case when outcome = 'bid' then 1 else 0 end as bid,
        case when outcome = 'bid' and reject_reason is null and coalesce(late, 0) = 0 then 1 else 0 end as in_auction,
        outcome as last_outcome,
        1 - sent as last_unsent,
        not_sent as last_not_sent,
        case when sent = 1 then outcome end as last_sent_outcome,
        coalesce(reason, outcome) as last_answer_reason,
        coalesce(reject_reason, 'late') as last_bid_loss,
        cast(null as varchar) as last_bid_trigger,
        cast(null as bigint) as last_bid_retry_no,
        0 as retries_checked,
        0 as r1_harmful,
        0 as r1_waste,
        0 as r2,
        0 as r3,
        0 as r4,
        0 as r5,
        0 as r5_checked,
        0 as r6,
        0 as r6_checked,
        r7,
        case when r7 is null then 0 else 1 end as r7_checked,
        0 as r8,
        r12,
        case when r12 is null then 0 else 1 end as r12_checked
    from call_attempts
    where alone = 1
),

staged as (
    select
        counted.*,
        call_losses.loss_reason,
        case
            when coalesce(call_proofs.stage, 0) > 4 then call_proofs.stage
            when counted.in_auction = 1 then 4
            when counted.bid = 1 then 3
            when counted.answered_attempts > 0 then 2
            when counted.attempts_sent > 0 then 1
            else 0
        end as stage
    from counted
    left join call_proofs
        on counted.auction_id = call_proofs.auction_id
            and counted.partner = call_proofs.partner
            and counted.call_us = call_proofs.call_us
    left join call_losses
        on counted.auction_id = call_losses.auction_id
            and counted.partner = call_losses.partner
            and counted.call_us = call_losses.call_us
)

select
    cast(auction_id as varchar) as auction_id,
    cast(partner as varchar) as partner,
    cast(case stage
        when 0 then last_outcome
        when 1 then coalesce(last_sent_outcome, 'unknown')
        when 2 then last_answer_reason
        when 3 then last_bid_loss
        when 4 then coalesce(loss_reason, 'no_win')
        when 5 then 'no_billed'
        when 6 then 'no_clicked'
    end as varchar) as reason,
    cast(case
        when hidden = 1 then 'unknown'
        when coalesce(original_grp, 'not_sent') <> 'failure' then null
        when recovered_by is not null then concat('recovered_', cast(cast(recovered_by as bigint) as varchar))
        when last_unsent = 1 and last_not_sent = 'no_time' then 'no_time'
        when last_unsent = 1 then 'stopped'
        when retried = 1 then 'exhausted'
        else 'not_retried'
    end as varchar) as fate,
    cast(last_bid_trigger as varchar) as last_bid_trigger,
    cast(last_bid_retry_no as bigint) as last_bid_retry_no,
    cast(attempts_sent as bigint) as attempts_sent,
    cast(not_sent as bigint) as not_sent,
    cast(answered_attempts as bigint) as answered_attempts,
    cast(cancelled_attempts as bigint) as cancelled_attempts,
    cast(case when attempts_sent > 1 then attempts_sent - 1 else 0 end as bigint) as retries,
    cast(case when hidden = 1 and attempts_sent - cancelled_attempts > 1 then 1 else retried end as bigint) as retried,
    cast(case when recovered_by is not null then 1 else 0 end as bigint) as recovered,
    cast(late_retries as bigint) as late_retries,
    cast(late_checked as bigint) as late_checked,
    cast(hidden as bigint) as hidden,
    cast(uncounted as bigint) as uncounted,
    cast(stage as bigint) as stage,
    cast(retries_checked as bigint) as retries_checked,
    cast(coalesce(r1_harmful, 0) as bigint) as r1_harmful,
    cast(coalesce(r1_waste, 0) as bigint) as r1_waste,
    cast(coalesce(r2, 0) as bigint) as r2,
    cast(coalesce(r3, 0) as bigint) as r3,
    cast(coalesce(r4, 0) as bigint) as r4,
    cast(coalesce(r5, 0) as bigint) as r5,
    cast(r5_checked as bigint) as r5_checked,
    cast(coalesce(r6, 0) as bigint) as r6,
    cast(r6_checked as bigint) as r6_checked,
    cast(coalesce(r7, 0) as bigint) as r7,
    cast(r7_checked as bigint) as r7_checked,
    cast(coalesce(r8, 0) as bigint) as r8,
    cast(coalesce(r12, 0) as bigint) as r12,
    cast(r12_checked as bigint) as r12_checked,
    cast(call_us as bigint) as call_us,
    cast(x_idiv(call_us, 3600000000) * 3600000000 as bigint) as hour_us,
    x_ts(call_us) as ts
from staged
