-- The engine's side of the casts in values.py, a pair of macros for each type: `cast_<type>(x)` gives the value of the
-- text `x`, and `odd_<type>(x, v)` is true where `v` might not be the canonical value that the definition gives (false
-- or null: it surely is). Rows with anything odd are read again by the definition, so these may be as strict as they like.
-- Texts come from a JSON reader: an object as its JSON, true and "true" alike, 1E5 as 100000.0.

-- Texts are tested together, joined by chr(1): one that a boolean, a nested value, a fraction or a bare NaN may have given.
create or replace temp macro odd_texts(x) as regexp_matches(
    x,
    '(?:^|\x01)(?:[\[{]|(?:true|false|-?(?i:nan|inf|infinity)|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:e[+-]?[0-9]+)?|e[+-]?[0-9]+))(?:\x01|$))'
);
create or replace temp macro cast_text(x) as nullif(x, '');
create or replace temp macro odd_text(x, v) as false;

-- Numbers begin with a digit, a minus or a point; the engine takes 1_000 and +-5 too, which are none.
create or replace temp macro cast_duration(x) as try_cast(x as double);
create or replace temp macro odd_duration(x, v) as
    x <> '' and (v is null or v >= 1e300 or x < '.' or contains(x, '_'));

create or replace temp macro cast_integer(x) as try_cast(x as bigint);
create or replace temp macro odd_integer(x, v) as
    x <> '' and (
        v is null or v not between -999999999999999 and 999999999999999 or (try_cast(x as double) = v) is not true or x < '-'
        or contains(x, '_')
    );

create or replace temp macro cast_status(x) as nullif(cast_integer(x), 0);
create or replace temp macro odd_status(x, v) as odd_integer(x, coalesce(v, try_cast(x as bigint)));

-- A fraction was read through a double: certain unless it has seven decimals and ends with a 5.
create or replace temp macro cast_money(x) as try_cast(x as decimal(18, 6));
create or replace temp macro odd_money(x, v) as
    x <> '' and (
        v is null or abs(v) >= 100000000 or x < '-' or contains(x, '_') or contains(x, 'e') or contains(x, 'E')
        or (strlen(x) - instr(x, '.') = 7 and suffix(x, '5'))
    );

create or replace temp macro cast_flag(x) as
    case when x in ('true', '1') then true when x in ('false', '0') then false end;
create or replace temp macro odd_flag(x, v) as x <> '' and v is null;

create or replace temp macro cast_state(x) as case when x in ('closed', 'open', 'half_open') then x end;
create or replace temp macro odd_state(x, v) as x <> '' and v is null;
create or replace temp macro cast_breaker(x) as cast_state(x);
create or replace temp macro odd_breaker(x, v) as x <> '' and v is null;

create or replace temp macro cast_not_sent(x) as case when x not in ('', 'false') then x end;
create or replace temp macro odd_not_sent(x, v) as
    v not in ('breaker', 'limit', 'no_time', 'true')
    and (not regexp_full_match(v, '[a-z_ ]+') or v in ('nan', 'inf', 'infinity'));

create or replace temp macro cast_error(x) as nullif(x, '');
create or replace temp macro odd_error(x, v) as contains(x, '?');

create or replace temp macro cast_path(x) as nullif(x, '');
create or replace temp macro odd_path(x, v) as contains(x, '?');

create or replace temp macro cast_hash(x) as nullif(x, '');
create or replace temp macro odd_hash(x, v) as
    (contains(x, ':') or contains(x, '.')) and not regexp_matches(x, '[g-zG-Z]');

create or replace temp macro cast_loss_reason(x) as nullif(x, '');
create or replace temp macro odd_loss_reason(x, v) as
    v < ':' and cast(try_cast(v as bigint) as varchar) is distinct from v;

create or replace temp macro cast_nbr(x) as nullif(x, '');
create or replace temp macro odd_nbr(x, v) as
    v < '0' or (v is not null and cast(try_cast(v as bigint) as varchar) is distinct from v);

create or replace temp macro cast_retry_after(x) as cast(try_cast(x as bigint) as double);
create or replace temp macro odd_retry_after(x, v) as
    x <> '' and (v is null or x < '0' or cast(try_cast(x as bigint) as varchar) <> x);

-- RFC 3339 with an offset of less than 15 hours; or a whole epoch number of s, ms, us or ns; or seconds with a fraction
-- where the literal is known to be `exact`; or a local time, where `local_time` knows the zone (see engine.py).
create or replace temp macro is_stamp(x) as regexp_full_match(
    x,
    '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?'
    || '(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)'
);
create or replace temp macro is_local_stamp(x) as regexp_full_match(
    x, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?'
);
create or replace temp macro micros_of_epoch(n) as
    case
        when n < 100000000000 then n * 1000000
        when n < 100000000000000 then n * 1000
        when n < 100000000000000000 then n
        else n // 1000
    end;
create or replace temp macro cast_time(x, exact) as
    case
        when is_stamp(x) then cast(try_cast(x as timestamptz) as timestamp)
        when x >= '0' and cast(try_cast(x as bigint) as varchar) = x
            then make_timestamp(micros_of_epoch(try_cast(x as bigint)))
        when exact and regexp_full_match(x, '[0-9]{9,10}\.[0-9]{1,6}')
            then make_timestamp(cast(try_cast(x as decimal(24, 6)) * 1000000 as bigint))
        when is_local_stamp(x) then local_time(try_cast(x as timestamp))
        when is_stamp(upper(x)) then cast(try_cast(upper(x) as timestamptz) as timestamp)
    end;
create or replace temp macro odd_time(x, v) as
    x <> '' and (v is null or v < timestamp '2000-01-01' or v >= timestamp '2101-01-01');

-- A body that is a JSON object, as far as it matters; seats and bids of a wrong type come as null, and are no bids.
create or replace temp macro cast_body(x) as
    case
        when x >= '{' and x < '|' and json_valid(x)
            then json_transform(x, '{"nbr":"VARCHAR","cur":"VARCHAR","seatbid":[{"bid":[{"price":"VARCHAR"}]}]}')
    end;
-- What `seatbid` is in such a body: null where it is absent.
create or replace temp macro body_seats(x, v) as case when v is not null then json_type(x, '$.seatbid') end;
create or replace temp macro body_prices(v) as
    flatten(list_transform(v.seatbid, lambda seat: list_transform(seat.bid, lambda bid: bid.price)));
create or replace temp macro sure_price(x) as
    case when not odd_money(x, cast_money(x)) and cast_money(x) > 0 then cast_money(x) end;
-- Odd: blanks around it, a comma before a closing bracket (which the engine forgives), an object that is none, and
-- whatever about its bids, code or currency is not plain.
create or replace temp macro odd_body(x, v, seats, prices) as
    case
        when x is null or x = '' then false
        when x < '!' then true
        when v is null then x >= '{' and x < '|'
        else
            regexp_matches(x, ',\s*[}\]]')
            or seats not in ('NULL', 'ARRAY')
            or list_contains(list_transform(prices, lambda price: sure_price(price) is null), true)
            or odd_nbr(v.nbr, nullif(v.nbr, ''))
            or odd_texts(v.cur)
    end;
