-- what the models may call beyond plain SQL: defined once for each engine, here for DuckDB
create or replace macro x_us(ts) as epoch_us(ts);
create or replace macro x_ts(us) as make_timestamp(us);
create or replace macro x_idiv(a, b) as a // b;
create or replace macro x_left_bucket(ms) as floor(ms / 20) * 20;
create or replace macro x_latency_bucket(ms) as
    case when ms > 0 then cast(floor(ln(ms) / ln(1.05)) as bigint) else -1000 end;
create or replace macro x_latency_ms(bucket) as
    case when bucket = -1000 then 0.0::double else pow(1.05, bucket + 0.5) end;
create or replace macro x_order_key(outcome, tenant, key_id, event_type, external_order_id) as
    case
        when outcome = 'accepted' and external_order_id is not null
            then concat(
                'o', chr(31), coalesce(tenant, key_id, ''), chr(31), coalesce(event_type, ''), chr(31),
                external_order_id
            )
    end;
create or replace macro x_group_key(outcome, tenant, key_id, event_type, external_order_id, conversion_id) as
    case
        when outcome = 'accepted' and conversion_id is not null
            then concat('c', chr(31), coalesce(tenant, key_id, ''), chr(31), conversion_id)
        else x_order_key(outcome, tenant, key_id, event_type, external_order_id)
    end;
