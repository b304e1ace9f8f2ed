"""Which events of one instant are in no order that the definitions decide."""

from .breakers import mark
from .calls import is_sent
from .lines import Row
from .orders import is_accepted, order_key, owner
from .outcomes import rank


def undecided(one: Row, other: Row) -> bool:
    """Whether the order of two canonical rows of one instant would change a table and is nowhere defined."""
    if one == other:
        return False
    kinds = {one["event"], other["event"]}
    if len(kinds) == 2:
        return False
    if kinds == {"attempt"}:
        return _attempts(one, other)
    if kinds == {"postback"}:
        return _postbacks(one, other)
    if kinds == {"breaker"}:
        return _differ(one, other, same=("partner", "node"), by=("state_from", "state_to"))
    if kinds == {"auction"}:
        return _differ(one, other, same=("auction_id",), by=("winner", "tmax_ms", "source", "placement"))
    return _differ(one, other, same=("auction_id",), by=("price", "currency", "loss_reason"))


def _differ(one: Row, other: Row, same: tuple[str, ...], by: tuple[str, ...]) -> bool:
    return all(one[key] == other[key] for key in same) and any(one[key] != other[key] for key in by)


def _attempts(one: Row, other: Row) -> bool:
    if _differ(one, other, same=("auction_id",), by=("source", "placement")):
        return True
    if one["partner"] != other["partner"]:
        return False
    marks = {mark(one), mark(other)} - {None}
    if one["node"] == other["node"] and len(marks) == 2:
        return True
    if any(one[key] != other[key] for key in ("auction_id", "attempt", "request_id")):
        return False
    return not (is_sent(one) and is_sent(other) and rank(one["outcome"]) != rank(other["outcome"]))


def _postbacks(one: Row, other: Row) -> bool:
    conversions = [None if row["conversion_id"] is None else (owner(row), row["conversion_id"]) for row in (one, other)]
    same_order = order_key(one) is not None and order_key(one) == order_key(other)
    same_conversion = conversions[0] is not None and conversions[0] == conversions[1]
    if one["key_id"] == other["key_id"]:
        used = [key for key in ("signature_hash", "idempotency_key") if one[key] is not None and one[key] == other[key]]
        if used:
            return True
    if not same_order and not same_conversion:
        return False
    return one["key_id"] != other["key_id"] or is_accepted(one) == is_accepted(other)
