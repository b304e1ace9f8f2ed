-- whether any postback of the whole data could show a stale or a replayed signature
select
    codes or stamps as stale_known,
    codes or hashes as replayed_known
from (
    select
        exists (select 1 from postbacks where error_code is not null) as codes,
        exists (select 1 from postbacks where x_timestamp is not null) as stamps,
        exists (select 1 from postbacks where signature_hash is not null) as hashes
)
