-- thresholds of the flags
select
    max(value::double) filter (name = 'flag_min_retries') as min_retries,
    max(value::double) filter (name = 'flag_watch_retries') as watch_retries,
    max(value::double) filter (name = 'flag_upper_bound') as bound,
    max(value::double) filter (name = 'flag_z') as z
from settings_in_force
where name like 'flag\_%' escape '\'
