-- Lines that became no fact: one row per line. The range is about when their load began.
--: ignores partner
--: limit 1000
select
    file,
    line,
    "offset",
    reason,
    raw
from rejects
where load_id in (from asked_loads)
order by load_id, file, line, "offset"
