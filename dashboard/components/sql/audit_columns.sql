-- Whether the warehouse has what the rules on breakers and on auctions in a row need: one row.
select
    exists(from breaker_states) as breakers,
    exists(from auction_stages where source is not null and placement is not null) as placements
