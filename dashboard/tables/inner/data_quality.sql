-- What was loaded during the range (loads lie at their begin), and what is odd in the data of the range: one row
-- per measure
with sums as (
    select
        count(*)::bigint as loads,
        count(*) filter (status = 'refused')::bigint as loads_refused,
        coalesce(sum(lines), 0)::bigint as lines,
        coalesce(sum(facts), 0)::bigint as facts,
        coalesce(sum(rejects), 0)::bigint as rejects,
        coalesce(sum(blank), 0)::bigint as blank,
        coalesce(sum(repeated), 0)::bigint as repeated,
        coalesce(sum(list_sum(map_values(from_json(coalesce(mended, '{}'), '"MAP(VARCHAR, BIGINT)"')))), 0)::bigint
            as mended
    from loads
    where load_id in (from asked_loads)
),

tries as (
    select
        coalesce(sum(attempts), 0)::bigint as attempts,
        coalesce(sum(attempts) filter (outcome = 'answered_unknown'), 0)::bigint as answers_unknown,
        coalesce(sum(attempts) filter (outcome = 'unknown_error'), 0)::bigint as errors_unknown,
        coalesce(sum(attempts) filter (reason = 'no_reason'), 0)::bigint as no_bids_without_reason,
        coalesce(sum(attempts) filter (reason = 'invalid'), 0)::bigint as no_bids_with_invalid_reason
    from range_attempts
),

notes as (
    select
        coalesce(sum(deliveries), 0)::bigint as deliveries,
        coalesce(sum(duplicates), 0)::bigint as duplicates,
        coalesce(sum(orphans), 0)::bigint as orphans,
        coalesce(sum(without_price) filter (kind in ('win', 'billing')), 0)::bigint as without_price
    from range_notices
),

posts as (
    select
        coalesce(sum(postbacks), 0)::bigint as postbacks,
        coalesce(sum(postbacks) filter (outcome = 'answered_unknown'), 0)::bigint as untold,
        coalesce(sum(postbacks) filter (key_id is null), 0)::bigint as keyless
    from range_postbacks
),

seen as (
    select
        coalesce(sum(hidden), 0)::bigint as hidden,
        coalesce(sum(uncounted), 0)::bigint as uncounted
    from range_calls
    where stream = 'exchange'
)

select
    listed.measure,
    listed.unit,
    listed.value
from sums, tries, notes, posts, seen, (
    values
    ('loaded_files', 'files', sums.loads),
    ('refused_files', 'files', sums.loads_refused),
    ('loaded_lines', 'lines', sums.lines),
    ('loaded_facts', 'lines', sums.facts),
    ('loaded_rejects', 'lines', sums.rejects),
    ('loaded_blank', 'lines', sums.blank),
    ('loaded_repeated', 'lines', sums.repeated),
    ('loaded_mended_values', 'values', sums.mended),
    ('attempts', 'attempts', tries.attempts),
    ('answers_unknown', 'attempts', tries.answers_unknown),
    ('errors_unknown', 'attempts', tries.errors_unknown),
    ('no_bids_without_reason', 'attempts', tries.no_bids_without_reason),
    ('no_bids_with_invalid_reason', 'attempts', tries.no_bids_with_invalid_reason),
    ('notice_deliveries', 'notices', notes.deliveries),
    ('notice_duplicates', 'notices', notes.duplicates),
    ('notice_orphans', 'notices', notes.orphans),
    ('paid_notices_without_price', 'notices', notes.without_price),
    ('postbacks', 'postbacks', posts.postbacks),
    ('calls_only_last_attempt_shown', 'calls', seen.hidden),
    ('calls_without_attempt_count', 'calls', seen.uncounted),
    ('postbacks_without_status', 'postbacks', posts.untold),
    ('postbacks_without_key', 'postbacks', posts.keyless)
) as listed (measure, unit, value)
