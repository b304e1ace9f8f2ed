-- Whether the postbacks of the warehouse carry what faults and duplicates of orders are judged by: one row.
select
    exists(
        from postbacks
        where
            conversion_id is not null
            or amount is not null
            or body_hash is not null
            or idempotency_key is not null
    ) as faults,
    exists(from postbacks where duplicate is not null) as duplicates
