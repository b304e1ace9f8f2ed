"""Postbacks: what refused each, the orders they belong to, and the stage each reached."""

from dataclasses import dataclass

from .lines import Row

STALE, REPLAY = "POSTBACK_STALE_TIMESTAMP", "POSTBACK_REPLAY"


def trigger(postback: Row) -> str:
    """`accepted`, or what refused the postback."""
    status = postback["http_status"]
    if status == 429:
        return "rate_limited"
    if postback["error_code"] == STALE:
        return "stale_timestamp"
    if postback["error_code"] == REPLAY:
        return "replay"
    if status is None:
        return "answered_unknown"
    if 500 <= status <= 599:
        return "server_error"
    if 400 <= status <= 499:
        return "client_error"
    if 200 <= status <= 299 and postback["accepted"] is not False:
        return "accepted"
    return "unexpected_status"


def is_accepted(postback: Row) -> bool:
    return trigger(postback) == "accepted"


def owner(postback: Row) -> str | None:
    """The tenant, the key where it is unknown; None where both are."""
    tenant: str | None = postback["tenant"] if postback["tenant"] is not None else postback["key_id"]
    return tenant


def order_key(postback: Row) -> tuple[str | None, str | None, str] | None:
    if postback["external_order_id"] is None:
        return None
    return owner(postback), postback["event_type"], postback["external_order_id"]


def by_ts(postbacks: list[Row]) -> list[Row]:
    """By ts, of equal ones what was refused first; the rest by their columns, never by file or line."""
    return sorted(postbacks, key=lambda row: (row["ts"], is_accepted(row), repr(sorted(row.items()))))


@dataclass
class Order:
    """All postbacks of one order, in order; its partner is the key of the first."""

    postbacks: list[Row]

    @property
    def key(self) -> tuple[str | None, str | None, str]:
        first = self.postbacks[0]
        return owner(first), first["event_type"], str(first["external_order_id"])

    @property
    def start(self) -> int:
        return int(self.postbacks[0]["ts"])

    @property
    def partner(self) -> str | None:
        key: str | None = self.postbacks[0]["key_id"]
        return key

    @property
    def untold(self) -> int | None:
        """The place of the first postback whose answer is unknown."""
        return next((place for place, row in enumerate(self.postbacks) if trigger(row) == "answered_unknown"), None)

    @property
    def hidden(self) -> bool:
        """Whether a postback up to the first acceptance has an unknown answer."""
        return self.untold is not None and self.untold < len(self.attempts)

    @property
    def attempts(self) -> list[Row]:
        """The postbacks up to and with the first acceptance."""
        until = next((place for place, row in enumerate(self.postbacks, start=1) if is_accepted(row)), None)
        return self.postbacks[:until]

    @property
    def accepted(self) -> list[Row]:
        return [row for row in self.postbacks if is_accepted(row)]

    @property
    def conversion_ids(self) -> list[str]:
        """The different ones that accepted replies gave."""
        return sorted({row["conversion_id"] for row in self.accepted} - {None})


def read_orders(postbacks: list[Row]) -> list[Order]:
    orders: dict[tuple[str | None, str | None, str], Order] = {}
    for postback in by_ts(postbacks):
        key = order_key(postback)
        if key is not None:
            orders.setdefault(key, Order([])).postbacks.append(postback)
    return list(orders.values())


def converted_clicks(postbacks: list[Row]) -> set[str]:
    """The click ids on any postback of an order that was accepted."""
    return {
        postback["click_id"]
        for order in read_orders(postbacks)
        if any(is_accepted(other) for other in order.postbacks)
        for postback in order.postbacks
        if postback["click_id"] is not None
    }


def postback_depths(postbacks: list[Row]) -> list[tuple[Row, int]]:
    """Each postback with the last stage it reached: 0 received, 1 passed_limits, 2 authentic, 3 accepted, 4 unique."""
    conversions: set[tuple[str | None, str]] = set()
    orders: set[tuple[str | None, str | None, str]] = set()
    depths = []
    for postback in by_ts(postbacks):
        refused = {"rate_limited": 0, "answered_unknown": 0, "stale_timestamp": 1, "replay": 1}
        depth = refused.get(trigger(postback), 2)
        if is_accepted(postback):
            order, conversion = order_key(postback), postback["conversion_id"]
            if conversion is not None:
                is_new = (owner(postback), conversion) not in conversions
                conversions.add((owner(postback), conversion))
            else:
                is_new = order is None or order not in orders
            if order is not None:
                orders.add(order)
            depth = 4 if is_new else 3
        depths.append((postback, depth))
    return depths
