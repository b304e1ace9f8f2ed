-- The dictionary of metrics: one row per figure that the pages, tables and reports show.
--: ignores partner range
select
    name,
    title,
    unit,
    numerator,
    denominator,
    definition,
    owner
from metrics
order by name
