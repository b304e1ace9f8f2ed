-- What the expressions of every format may use beside the engine's own functions. Texts in, texts out; null where the
-- text is none of its kind.

-- 18/Aug/2026:11:00:00 +0000, with or without a fraction and an offset, as RFC 3339.
create or replace temp macro log_time(x) as
    case when regexp_full_match(x, '[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:.]{8,} ?(?:[+-][0-9]{4})?') then
        substr(x, 8, 4) || '-'
        || lpad(cast((instr('JanFebMarAprMayJunJulAugSepOctNovDec', substr(x, 4, 3)) + 2) // 3 as varchar), 2, '0')
        || '-' || substr(x, 1, 2) || 'T' || replace(substr(x, 13), ' ', '')
    end;

-- Seconds as milliseconds, to the microsecond.
create or replace temp macro ms_of_seconds(x) as round(try_cast(x as double) * 1000, 3);

-- Microseconds since 1970 of a time with an offset, or of epoch seconds with a fraction.
create or replace temp macro micros_of(x) as coalesce(
    epoch_us(try_cast(x as timestamptz)),
    cast(floor(try_cast(x as decimal(24, 6)) * 1000000) as bigint)
);
create or replace temp macro time_of_micros(us) as cast(make_timestamp(us) as varchar) || 'Z';

-- What is percent-encoded in a query, as it reads; as it was written where that is no text.
create or replace temp macro url_decoded(x) as
    case
        when x = '' then null
        when contains(x, '%') or contains(x, '+') then coalesce(try(url_decode(replace(x, '+', ' '))), x)
        else x
    end;
-- The parameter of a URL's query whose name matches the pattern `name`, decoded.
create or replace temp macro url_param(url, name) as
    url_decoded(regexp_extract(url, '[?&](?:' || name || ')=([^&#\s]*)', 1));
-- The path of a URL or of a request line such as `GET /path?query HTTP/1.1`; and the method of that.
create or replace temp macro url_path(x) as
    nullif(regexp_extract(x, '^(?:[A-Z]+ )?(?:[a-z][a-z0-9+.-]*://[^/?#\s]*)?([^?#\s]*)', 1), '');
create or replace temp macro http_method(x) as nullif(regexp_extract(x, '^([A-Z]+) ', 1), '');

-- How many elements a JSON array has; null where the text is none.
create or replace temp macro size_of(x) as case when starts_with(x, '[') then try(json_array_length(x)) end;
