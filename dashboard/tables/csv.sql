-- The product's one CSV form (dashboard/text.py, csv_cell) for texts that a statement makes.
-- Quoted where a reader of CSV would take the text apart, or drop its spaces.
create or replace temp macro csv_quoted(t) as case
    when regexp_matches(t, '[",\r\n]') or starts_with(t, ' ') or ends_with(t, ' ') then '"' || replace(t, '"', '""') || '"'
    else t
end;

-- A text that is there, though it may be empty; one that a spreadsheet would take for a formula gets an apostrophe.
create or replace temp macro csv_text(t) as case
    when t = '' then '""'
    when left(t, 1) in ('=', '+', '-', '@', chr(9), chr(13)) then csv_quoted('''' || t)
    else csv_quoted(t)
end;

-- All digits that matter, never an exponent.
create or replace temp macro csv_decimal(d) as case
    when contains(d::varchar, '.') then rtrim(rtrim(d::varchar, '0'), '.')
    else d::varchar
end;
