-- One row a postback of `typed_postbacks`, with its outcome by its first matching class.
select
    *,
    case
        when http_status = 429 then 'rate_limited'
        when error_code = 'POSTBACK_STALE_TIMESTAMP' then 'stale_timestamp'
        when error_code = 'POSTBACK_REPLAY' then 'replay'
        when http_status between 200 and 299 and accepted is distinct from false then 'accepted'
        when http_status between 500 and 599 then 'server_error'
        when http_status between 400 and 499 then 'client_error'
        when http_status is null then 'answered_unknown'
        else 'unexpected_status'
    end as outcome
from typed_postbacks
