-- one row per order: tenant, event_type, external_order_id
-- (hidden: whether a request up to the first acceptance was accepted is unknown; uncounted: so is how many there were)
with posts as (
    select
        *,
        case
            when won = 1 and conversion_id is not null and conversion_position < position
                and duplicate = 0 and replayed = 0
                then conversion_id
        end as unmarked_conversion
    from order_posts
),

counted as (
    select
        tenant,
        event_type,
        external_order_id,
        max(case when position = 1 then key_id end) as partner,
        max(case when position = 1 then outcome end) as original_outcome,
        max(accepted_position) as accepted_position,
        max(untold_position) as untold_position,
        sum(retry) as retries_checked,
        max(case when position = accepted_position then us end) as accepted_us,
        max(case when position = accepted_position then duplicate else 0 end) as earlier,
        sum(won * duplicate) as duplicates,
        max(call_us) as call_us,
        count(*) as requests,
        sum(case when retry = 1 and us - call_us > 86400000000 then 1 else 0 end) as beyond_day,
        sum(case when retry = 1 and position > 6 then 1 else 0 end) as r4,
        sum(coalesce(r8, 0)) as r8,
        sum(coalesce(r9, 0)) as r9,
        sum(coalesce(r11, 0)) as r11,
        sum(case when r11 is not null then 1 else 0 end) as r11_checked,
        sum(case when won = 1 and conversion_id is not null and conversion_position = position then 1 else 0 end)
            as conversions,
        sum(case when body_hash is not null and body_position = position then 1 else 0 end) as bodies,
        sum(case when unmarked_conversion is not null then 1 else 0 end) as unmarked,
        min(unmarked_conversion) as unmarked_conversion,
        min(case when won = 1 then conversion_id end) as low_conversion,
        max(case when won = 1 then conversion_id end) as high_conversion,
        min(amount) as low_amount,
        max(amount) as high_amount,
        min(case when amount is not null then currency end) as low_currency,
        max(case when amount is not null then currency end) as high_currency
    from posts
    where alone = 0
    group by tenant, event_type, external_order_id
    union all
    select
        tenant,
        event_type,
        external_order_id,
        key_id as partner,
        outcome as original_outcome,
        accepted_position,
        untold_position,
        0 as retries_checked,
        case when won = 1 then us end as accepted_us,
        won * duplicate as earlier,
        won * duplicate as duplicates,
        call_us,
        1 as requests,
        0 as beyond_day,
        0 as r4,
        0 as r8,
        0 as r9,
        0 as r11,
        0 as r11_checked,
        0 as conversions,
        0 as bodies,
        0 as unmarked,
        cast(null as varchar) as unmarked_conversion,
        cast(null as varchar) as low_conversion,
        cast(null as varchar) as high_conversion,
        cast(null as decimal(18, 6)) as low_amount,
        cast(null as decimal(18, 6)) as high_amount,
        cast(null as varchar) as low_currency,
        cast(null as varchar) as high_currency
    from posts
    where alone = 1
),

sized as (
    select
        *,
        case when accepted_position is null then 0 else 1 end as accepted,
        coalesce(accepted_position, requests) as attempts_sent,
        case when untold_position <= coalesce(accepted_position, requests) then 1 else 0 end as hidden
    from counted
),

-- what the words of a fault need beside the order's own figures
worded as (
    select
        sized.tenant,
        sized.event_type,
        sized.external_order_id,
        max(case when posts.amount = sized.low_amount then posts.currency end) as low_currency,
        max(case when posts.amount = sized.high_amount then posts.currency end) as high_currency,
        sum(case when posts.won = 1 and posts.conversion_id = sized.unmarked_conversion then 1 else 0 end)
            as times_accepted
    from posts
    inner join sized
        on posts.tenant is not distinct from sized.tenant
            and posts.event_type is not distinct from sized.event_type
            and posts.external_order_id = sized.external_order_id
    where posts.alone = 0 and (sized.low_amount < sized.high_amount or sized.unmarked > 0)
    group by sized.tenant, sized.event_type, sized.external_order_id
),

converted as (
    select
        tenant,
        event_type,
        external_order_id,
        array_sort(array_agg(conversion_id)) as conversion_ids
    from posts
    where won = 1 and conversion_id is not null and conversion_position = position
    group by tenant, event_type, external_order_id
),

shown as (
    select
        sized.*,
        converted.conversion_ids,
        worded.times_accepted,
        substring(sized.low_conversion, 1, 60) as shown_low_conversion,
        substring(sized.high_conversion, 1, 60) as shown_high_conversion,
        substring(sized.unmarked_conversion, 1, 60) as shown_unmarked_conversion,
        case
            when sized.low_amount = cast(sized.low_amount as decimal(18, 2))
                then cast(cast(sized.low_amount as decimal(18, 2)) as varchar)
            else cast(sized.low_amount as varchar)
        end as shown_low_amount,
        case
            when sized.high_amount = cast(sized.high_amount as decimal(18, 2))
                then cast(cast(sized.high_amount as decimal(18, 2)) as varchar)
            else cast(sized.high_amount as varchar)
        end as shown_high_amount,
        coalesce(substring(case
            when sized.low_amount = sized.high_amount then concat(' ', sized.low_currency)
            when worded.low_currency is not null then concat(' ', worded.low_currency)
        end, 1, 20), '') as shown_low_currency,
        coalesce(substring(case
            when sized.low_amount = sized.high_amount then concat(' ', sized.high_currency)
            when worded.high_currency is not null then concat(' ', worded.high_currency)
        end, 1, 20), '') as shown_high_currency
    from sized
    left join worded
        on sized.tenant is not distinct from worded.tenant
            and sized.event_type is not distinct from worded.event_type
            and sized.external_order_id = worded.external_order_id
    left join converted
        on sized.tenant is not distinct from converted.tenant
            and sized.event_type is not distinct from converted.event_type
            and sized.external_order_id = converted.external_order_id
)

select
    cast(tenant as varchar) as tenant,
    cast(event_type as varchar) as event_type,
    cast(external_order_id as varchar) as external_order_id,
    cast(partner as varchar) as partner,
    cast(case
        when hidden = 1 then 'unknown'
        when original_outcome = 'accepted' then null
        when accepted = 1 then concat('recovered_', cast(cast(attempts_sent - 1 as bigint) as varchar))
        when attempts_sent > 1 then 'exhausted'
        else 'not_retried'
    end as varchar) as fate,
    cast(case
        when conversions = 2 then concat('conversions ', shown_low_conversion, ' and ', shown_high_conversion)
        when conversions > 2 then concat(
            'conversions ', shown_low_conversion, ', ', shown_high_conversion, ' and ',
            cast(cast(conversions - 2 as bigint) as varchar), ' more'
        )
    end as varchar) as double_count,
    cast(case
        when low_amount < high_amount or low_currency < high_currency then concat(
            'amounts ', shown_low_amount, shown_low_currency, ' and ', shown_high_amount, shown_high_currency
        )
        when low_amount is null and bodies > 1
            then concat(cast(cast(bodies as bigint) as varchar), ' bodies under one order id')
    end as varchar) as reused_id,
    cast(case
        when unmarked > 0 and times_accepted = 2
            then concat('conversion ', shown_unmarked_conversion, ' accepted twice, not marked')
        when unmarked > 0 then concat(
            'conversion ', shown_unmarked_conversion, ' accepted ', cast(cast(times_accepted as bigint) as varchar),
            ' times, ', cast(cast(unmarked as bigint) as varchar), ' not marked'
        )
    end as varchar) as unmarked_duplicate,
    conversion_ids,
    cast(requests as bigint) as requests,
    cast(attempts_sent as bigint) as attempts_sent,
    cast(accepted as bigint) as answered_attempts,
    cast(attempts_sent - 1 as bigint) as retries,
    cast(case when attempts_sent > 1 then 1 else 0 end as bigint) as retried,
    cast(case when attempts_sent > 1 and accepted = 1 and hidden = 0 then 1 else 0 end as bigint) as recovered,
    cast(accepted as bigint) as accepted,
    cast(hidden as bigint) as hidden,
    cast(case when untold_position < attempts_sent then 1 else 0 end as bigint) as uncounted,
    cast(case when accepted = 0 and untold_position is not null then 1 else 0 end as bigint) as undecided,
    cast(case when untold_position is not null then 1 else 0 end as bigint) as untold,
    cast(retries_checked as bigint) as retries_checked,
    cast(earlier as bigint) as earlier,
    cast(duplicates as bigint) as duplicates,
    cast(beyond_day as bigint) as beyond_day,
    cast(r4 as bigint) as r4,
    cast(r8 as bigint) as r8,
    cast(r9 as bigint) as r9,
    cast(r11 as bigint) as r11,
    cast(r11_checked as bigint) as r11_checked,
    cast(accepted_us as bigint) as accepted_us,
    cast(call_us as bigint) as call_us,
    cast(x_idiv(call_us, 3600000000) * 3600000000 as bigint) as hour_us,
    x_ts(call_us) as ts
from shown
