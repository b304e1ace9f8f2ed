-- largest window in seconds that any request of a key and endpoint ever named; asked for only where one names none
select
    case
        when
            client_hash is not null
            and (contains(endpoint, 'exchange') or contains(endpoint, '/r/') or contains(endpoint, '/p/'))
            then client_hash
        else key_id
    end as key,
    endpoint,
    max(window_s) as window_s
from postbacks
where window_s > 0 and (select count(*) from window_requests where window_s is null or window_s <= 0) > 0
group by all
