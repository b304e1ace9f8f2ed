-- Retries that a load found to be switched off, newest first: when the flag was raised and cleared, each with the
-- evidence of that moment. One row per stream, partner, trigger and time raised; roll-ups are written '*'.
--: ignores range
select
    stream,
    partner,
    trigger,
    verdict,
    raised,
    retries,
    successes,
    upper_bound,
    cleared,
    cleared_why,
    cleared_retries,
    cleared_successes,
    lower_bound
from flag_history
where (select all_partners from asked) or partner in (from asked_partners)
order by raised desc, raised_load desc, stream, partner, trigger
