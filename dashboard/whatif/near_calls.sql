-- Calls with a retry, and with an attempt in the asked minutes; and every minute that these calls reach.
create or replace temp table near_steps as
select distinct
    partner,
    auction_id,
    call_us,
    unnest(range(x_idiv(call_us, 60000000), x_idiv(us, 60000000) + 1)) as minute
from {chain_steps}
where step = 1 and partner in ({partners});

create or replace temp table near_calls as
select partner, auction_id, call_us, row_number() over () - 1 as call
from (
    select distinct partner, auction_id, call_us
    from near_steps
    semi join asked_minutes using (partner, minute)
);

create or replace temp table near_minutes as
select partner, minute from asked_minutes
union
select partner, minute from near_steps semi join near_calls using (partner, auction_id, call_us);

create or replace temp table near_attempts (
    code bigint, call bigint, us bigint, outcome_code bigint, failed boolean, judged boolean, answered boolean,
    unfit boolean, late boolean, late_known boolean, latency_ms double, partner varchar, auction_id varchar
);
