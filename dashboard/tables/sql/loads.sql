-- What was loaded: one row per file and run, oldest first. The range is about when a load began.
--: ignores partner
select
    file,
    format,
    lines,
    facts,
    rejects,
    blank,
    repeated,
    from_json(coalesce(mended, '{}'), '"MAP(VARCHAR, BIGINT)"') as mended,
    started,
    finished,
    status,
    reason
from loads
where load_id in (from asked_loads)
order by load_id, file
