"""The state relations: every column in order with its engine type. `*_us` are epoch microseconds, UTC."""

from __future__ import annotations

STATES: dict[str, list[tuple[str, str]]] = {
    "expected_pieces": [
        ("partner", "VARCHAR"),
        ("hour_us", "BIGINT"),
        ("place", "BIGINT"),
        ("state", "VARCHAR"),
        ("from_us", "BIGINT"),
        ("until_us", "BIGINT"),
        ("attempts", "BIGINT"),
        ("failures", "BIGINT"),
        ("blocked", "BIGINT"),
    ],
    "throttles": [
        ("stream", "VARCHAR"),
        ("key", "VARCHAR"),
        ("endpoint", "VARCHAR"),
        ("us", "BIGINT"),
        ("hour_us", "BIGINT"),
        ("call_us", "BIGINT"),
        ("ends_us", "BIGINT"),
        ("retry_after_s", "DOUBLE"),
        ("next_us", "BIGINT"),
        ("auction_id", "VARCHAR"),
        ("tenant", "VARCHAR"),
        ("event_type", "VARCHAR"),
        ("external_order_id", "VARCHAR"),
    ],
    "wasted_requests": [
        ("stream", "VARCHAR"),
        ("key", "VARCHAR"),
        ("endpoint", "VARCHAR"),
        ("us", "BIGINT"),
        ("hour_us", "BIGINT"),
        ("auction_id", "VARCHAR"),
        ("tenant", "VARCHAR"),
        ("event_type", "VARCHAR"),
        ("external_order_id", "VARCHAR"),
    ],
    "repeats": [
        ("source", "VARCHAR"),
        ("placement", "VARCHAR"),
        ("auction_id", "VARCHAR"),
        ("us", "BIGINT"),
        ("hour_us", "BIGINT"),
        ("run", "BIGINT"),
        ("delay_ms", "DOUBLE"),
        ("hammering", "BIGINT"),
    ],
    "placement_tails": [
        ("hour_us", "BIGINT"),
        ("source", "VARCHAR"),
        ("placement", "VARCHAR"),
        ("last_us", "BIGINT"),
        ("last_auction_id", "VARCHAR"),
        ("run", "BIGINT"),
    ],
}


def columns_sql(relation: str) -> str:
    """Columns of `relation` with their types, as a create table takes them."""
    return ", ".join(f'"{name}" {kind}' for name, kind in STATES[relation])


def names_sql(relation: str, alias: str = "") -> str:
    """Names of the columns of `relation`, in order."""
    return ", ".join(f'{alias}"{name}"' for name, _ in STATES[relation])
